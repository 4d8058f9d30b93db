// Shared by every verb: exit statuses (0 success; 1 a wrong answer or a failed check; 2 a mistake in the command line
// or in a text), error reports and the writing of output.
#pragma once

#include <string>
#include <string_view>

#include "clients/cli/verb/options.h"
#include "runtime/base/result.h"

namespace trident::cli {

inline constexpr int kExitWrong = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;

/// Returns `text` with control characters, line ends and tabs excepted, and bytes that are no UTF-8 as \xHH: input that
/// a message quotes does nothing to a terminal.
std::string printable(std::string_view text);
/// Prints "trident: message" on standard error, made printable, and returns the status that fits the error's code.
int report(const Error& error);
/// For an option's check(): what is wrong with a file's name, empty when nothing is.
std::string file_name_fault(const std::string& name);
/// Returns the fault of a number that counts something: strtoull takes -1 and all larger numbers for 2^64 - 1.
std::string negative_fault(const std::string& number);
/// Writes a file, or standard output for "-".
Result<void> write_text(const std::string& path, const std::string& text);

}  // namespace trident::cli
