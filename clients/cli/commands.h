// The verbs of the trident command. Each function adds one verb to the application; when the user calls it, it leaves
// the exit status: 0 all is well, 1 something is wrong (a wrong answer, a failed check), 2 the command line or a text
// is.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace CLI {
class App;
}

namespace trident::cli {

inline constexpr int kExitWrong = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;

void add_run_command(CLI::App& app, int& status);
void add_bench_command(CLI::App& app, int& status);
void add_explain_command(CLI::App& app, int& status);
void add_disasm_command(CLI::App& app, int& status);
void add_doctor_command(CLI::App& app, int& status);
void add_demo_command(CLI::App& app, int& status);
void add_rewrite_command(CLI::App& app, int& status);
void add_rules_command(CLI::App& app, int& status);
void add_profile_command(CLI::App& app, int& status);
void add_build_command(CLI::App& app, int& status);
void add_lower_command(CLI::App& app, int& status);
void add_oracle_command(CLI::App& app, int& status);
void add_fuzz_equiv_command(CLI::App& app, int& status);
void add_calibrate_command(CLI::App& app, int& status);
void add_train_command(CLI::App& app, int& status);
void add_weights_command(CLI::App& app, int& status);
void add_stats_command(CLI::App& app, int& status);
/// parse, print, check, dot: one stage each, on text.
void add_text_commands(CLI::App& app, int& status);
void add_completion_command(CLI::App& app, int& status);

/// The whole command: parses the command line, runs the verb, returns the exit status.
int run_command_line(int argc, char** argv);

/// Prints "trident: message" on standard error and returns the status that fits the error's code.
int report(const Error& error);
/// Returns the fault of a file's name, for an option's check(); empty when there is none.
std::string file_name_fault(const std::string& name);
/// Checks a number that counts something, too: strtoull takes -1 for 2^64 - 1, and so it does for larger numbers.
std::string negative_fault(const std::string& number);
/// Writes a file, or standard output for "-".
Result<void> write_text(const std::string& path, const std::string& text);

}  // namespace trident::cli
