// The sentence for a command line that CLI11 refuses: what is wrong, the nearest name, and where the help is.
#pragma once

#include <optional>
#include <string>

#include "runtime/command_line/command.h"

namespace trident::command_line {

/// Returns two lines that begin with `program`. `said` is CLI11's sentence; the verb that was asked for is read from
/// `command`, which is the program's.
std::string usage_error(const std::string& program, const Command& command, const std::string& said);

/// Prints what a command line was answered, or why it was refused, and returns the exit status, 0 or 2; nothing where
/// the program shall go on.
std::optional<int> exit_status(const Application& program, const Parsed& parsed);

}  // namespace trident::command_line
