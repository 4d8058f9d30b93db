// What every verb shares: exit statuses (0 all is well, 1 something is wrong: a wrong answer, a failed check; 2 the
// command line or a text is), how it reports errors and writes its output.
#pragma once

#include <string>

#include "clients/cli/verb/options.h"
#include "runtime/base/result.h"

namespace trident::cli {

inline constexpr int kExitWrong = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;

/// Prints "trident: message" on standard error and returns the status that fits the error's code.
int report(const Error& error);
/// For an option's check(): what is wrong with a file's name, empty when nothing is.
std::string file_name_fault(const std::string& name);
/// The same of a number that counts something: strtoull takes -1 for 2^64 - 1, and what is above that for it too.
std::string negative_fault(const std::string& number);
/// Writes a file, or standard output for "-".
Result<void> write_text(const std::string& path, const std::string& text);

}  // namespace trident::cli
