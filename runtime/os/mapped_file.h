// Files that are read where they lie.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/os/memfd.h"

namespace trident::os {

/// The whole file, read-only; its pages are shared with all who map it, and stay what they were when the path is given
/// to another file. Who writes into the file itself changes what is seen. Errors: those of
/// open_regular_file(); InvalidArgument for an empty file.
Result<Mapping> map_file(const std::string& path);
/// Maps a regular file that is open already; `name` is its name in errors.
Result<Mapping> map_file(const Fd& file, const std::string& name);

}  // namespace trident::os
