// Directories for files that only their owner may see.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace trident::os {

/// Makes the directory of the file `path` and its parents where absent, each with mode 0700.
Result<void> make_private_directory_of(const std::string& path);

/// Makes the directory itself, likewise. OsError for one in which this process cannot read and write files, and for
/// what is no directory.
Result<void> make_usable_directory(const std::string& directory);

}  // namespace trident::os
