// `trident run FILE.tasm`: a program of Triton VM, what it leaves and how tall the tables of its proof are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace CLI {
class App;
}

namespace trident::cli {

struct ProgramRun {
  std::string file;
  std::vector<std::string> public_input, secret_input, digests, ram;
  std::uint64_t cycles = 0;
  bool json = false;
};

/// Whether the operand of `run` is a program's file.
bool names_program(const std::string& text);
/// Adds to `run` the options that only programs have.
void add_program_options(CLI::App& verb, ProgramRun& run);
/// An error if the command line has options of programs for an expression, or the other way round.
Result<void> check_options_fit(const CLI::App& verb, bool program);
/// Exit status 0; 1 if the program fails, which standard error tells with its place.
Result<int> run_program(const ProgramRun& run);

}  // namespace trident::cli
