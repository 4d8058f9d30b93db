// Files that are read from their beginning to their end: what else may have a file's name (a FIFO that waits for a
// writer, a device that never ends) is refused before anything waits for it.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"

namespace trident::os {

/// Returns the error about a folder that stands where a file is expected.
Error folder_error(const std::string& path);

/// Opens a file for reading. Never waits. Errors begin with the path: NotFound; InvalidArgument for anything but a
/// regular file, with its kind; OsError.
Result<Fd> open_regular_file(const std::string& path);

/// Returns true while `path` leads to this open file: false once it is removed, moved or replaced.
bool is_at(const Fd& file, const std::string& path);

}  // namespace trident::os
