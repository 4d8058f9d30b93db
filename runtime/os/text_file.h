// Files that a command is told to read: the one place that opens them, so that nothing waits for who may never come.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/base/result.h"

namespace trident::os {

/// The text of a regular file, of a device, or of what the shell has opened for the command (/dev/stdin, and the
/// /dev/fd/63 that `<(...)` stands for). InvalidArgument, with the path, for a FIFO by its name, which would be waited
/// for, a directory, a socket, and what is not there or cannot be read; LimitExceeded beyond `bytes_max`.
Result<std::string> read_text(const std::string& path, std::size_t bytes_max);

}  // namespace trident::os
