// `.fn` files in the verbs of kernels: explain, disasm, bench.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace trident::cli {

/// Says whether an operand names a function's file.
bool names_function(const std::string& operand);

struct FunctionStages {
  bool text = true, region = true, code = true;
};
/// Prints the function of `file`, which may call shipped functions: its text, its region, its machine code with what
/// the trials have covered.
Result<void> explain_function(const std::string& file, const FunctionStages& stages);

/// Times the function on the arguments of its @test lines: interpreted, and as machine code, whose answers are compared
/// first. InvalidArgument for a function without such lines.
Result<void> bench_function(const std::string& file, bool json);

}  // namespace trident::cli
