// Files that a command is told to read. They are opened here alone: nothing waits for a writer that never comes.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/base/result.h"

namespace trident::os {

/// Reads a regular file, a device, or a file that the shell has opened for the command (/dev/stdin, and the /dev/fd/63
/// that `<(...)` stands for). InvalidArgument, with the path, for a named FIFO (reading it would wait), a directory, a
/// socket, and a file that is missing or unreadable; LimitExceeded beyond `bytes_max`.
Result<std::string> read_text(const std::string& path, std::size_t bytes_max);

}  // namespace trident::os
