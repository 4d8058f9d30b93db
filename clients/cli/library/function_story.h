// `.fn` files in the verbs of kernels: explain, disasm, bench.
#pragma once

#include <optional>
#include <string>

#include "jit/codegen/codegen.h"
#include "runtime/base/result.h"

namespace trident::cli {

/// Says whether an operand names a function's file.
bool names_function(const std::string& operand);

/// The stages that are printed besides the machine code.
struct FunctionStages {
  bool text = true, region = true;
};
/// A file NAME.fn, and the folder that --library names, if any.
struct FunctionFile {
  std::string name, library;
};

/// Prints the function of `file`: its text, its region, its machine code with what
/// the trials have covered. The code is the baseline tier's where `bulk` names no vectors.
Result<void> explain_function(const FunctionFile& file, const FunctionStages& stages, std::optional<codegen::Isa> bulk);

/// Times the function on the arguments of its @test lines: interpreted, and as machine code of both tiers, whose
/// answers are compared first. InvalidArgument for a function without such lines.
Result<void> bench_function(const FunctionFile& file, bool json);

}  // namespace trident::cli
