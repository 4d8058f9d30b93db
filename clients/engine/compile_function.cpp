// trident_engine_compile_function(): jit/pipeline/function.h behind plain structs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "clients/c/engine_abi.h"
#include "clients/engine/result.h"
#include "jit/function/submission.h"
#include "jit/pipeline/function.h"

namespace {

using trident::Result;
using trident::engine::answer;
using trident::engine::hand_over;
namespace function = trident::function;
namespace pipeline = trident::pipeline;

/// Trials draw the same calls for the same function.
constexpr std::uint64_t kFunctionSeed = 1;

/// The request of older callers ends before what they know nothing of.
constexpr std::size_t kFunctionBytesMin = offsetof(trident_engine_function, bulk);

Result<void> compile_into(const trident_engine_function& wanted, trident_engine_result& result) {
  const std::string_view text(wanted.text, wanted.text_size), calls(wanted.calls, wanted.calls_size);
  TRY(const function::Program program, function::read_program(text, calls));
  pipeline::FunctionOptions options{.seed = kFunctionSeed};
  if (wanted.isa == TRIDENT_ISA_AVX2) options.bulk = trident::codegen::Isa::avx2;
  TRY(const auto made, wanted.bulk != 0
                           ? pipeline::compile_fastest(program.function(), program.library, options)
                           : pipeline::compile_function(program.function(), program.library, {.seed = kFunctionSeed}));
  return hand_over(made.image, result);
}

}  // namespace

extern "C" void trident_engine_compile_function(const trident_engine_function* function,
                                                trident_engine_result* result) {
  result->outcome = TRIDENT_ENGINE_ERROR;
  result->fd = -1;
  if (function->struct_size < kFunctionBytesMin || result->struct_size < sizeof(*result)) return;
  trident_engine_function known{};
  std::memcpy(&known, function, std::min<std::size_t>(function->struct_size, sizeof known));
  answer(*result, [&] { return compile_into(known, *result); });
}
