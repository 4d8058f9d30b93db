// Files that a command is told to write, looked at before the work: what stands there is said at once, not after hours,
// and nothing is left. A device or a FIFO of that name would be replaced by a file, or get a journal beside it.
#pragma once

#include <span>
#include <string>

#include "runtime/base/result.h"

namespace trident::cli {

/// Checks that a new file can replace the one of this name (os::AtomicFile): makes a draft and drops it.
/// InvalidArgument, with the path, for a directory, a link, a device, a FIFO or a socket; OsError and NotFound where no
/// file can be made.
Result<void> can_take_place(const std::string& path);
/// Checks that write_text() can write there, before work that takes long. "-" and an empty path are not looked at.
Result<void> can_be_written(const std::string& path);
/// Checks so when missing folders will be made: only folders that exist are tried.
Result<void> can_take_place_in_new_folder(const std::string& path);
/// Checks that a file can be written in place. SQLite does so; it follows links and makes missing files.
Result<void> can_be_written_in_place(const std::string& path);
/// A draft is made whatever stands there, and dropped. InvalidArgument for a directory.
Result<void> can_be_drafted(const std::string& path);
/// InvalidArgument where it is one of `others`, which are read or written too and would be lost; names that are empty
/// are nobody's.
Result<void> is_none_of(const std::string& path, std::span<const std::string> others);

}  // namespace trident::cli
