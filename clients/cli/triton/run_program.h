// `trident run FILE`: a program of Triton VM, what it leaves and how tall the tables of its proof are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clients/cli/verb/kernel_options.h"
#include "clients/cli/verb/options.h"
#include "jit/tir/lowering/peepholes.h"
#include "jit/tir/vm/machine.h"
#include "runtime/base/result.h"

namespace trident::cli {

struct ProgramRun {
  std::string file;
  std::vector<std::string> public_input, secret_input, digests, ram;
  std::string vm = "7";  ///< one of tasm::kVmNames
  std::uint64_t cycles = 0;
  bool json = false;
};

/// Returns true when a program's file holds TIR: when its name ends in .tir. Else it holds TASM.
bool is_tir(const std::string& file);
/// The machine of `--vm`.
tir::tasm::Vm machine_named(const std::string& name);

/// A file and the program in it; TIR is lowered, and its instructions have the places of their operations.
struct ProgramText {
  std::string file, text;
  tir::tasm::Program program;
};
/// Errors of the file and its text name their place. The passes are for TIR: TASM stays as it is.
Result<ProgramText> read_program(const std::string& file, tir::tasm::Vm machine, tir::lowering::PassSet passes);

/// All that a program reads.
struct ProgramInputs {
  std::vector<field::Element> public_input, secret_input;
  std::vector<field::Digest> digests;
  std::vector<std::pair<field::Element, field::Element>> ram;

  [[nodiscard]] tir::vm::Inputs inputs() const { return {public_input, secret_input, digests, ram, {}}; }
};
/// Errors name the option.
Result<ProgramInputs> read_inputs(const ProgramRun& run);

/// A program that can be run.
struct LoadedProgram : ProgramText, ProgramInputs {
  tir::vm::Code code;

  /// Says on standard error why and where the machine has failed.
  void report_failure(const tir::vm::Machine& machine) const;
};
/// Errors of the file, its text and the options name their place. The passes are for TIR.
Result<std::unique_ptr<LoadedProgram>> load_program(const ProgramRun& run,
                                                    tir::lowering::PassSet passes = tir::lowering::PassSet::all());

/// Returns true when the operand of `run` is a program's file: by its ending, or because such a file exists.
bool names_program(const std::string& operand);
/// Adds to an error about a file without an ending how it was read.
Error with_reading(const std::string& operand, Error error);
/// Adds to `run` the options that only programs have.
void add_program_options(Verb verb, ProgramRun& run);
/// Lists them under a heading, where a verb takes other things than programs too.
void group_program_options(Verb verb);
void add_machine_option(Verb verb, std::string& name);
/// An error if the command line has options of programs for an expression, or the other way round.
Result<void> check_options_fit(Verb verb, bool program);
/// Exit status 0; 1 if the program fails, which standard error tells with its place.
Result<int> run_program(const ProgramRun& run);

}  // namespace trident::cli
