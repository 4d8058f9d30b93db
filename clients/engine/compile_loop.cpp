// trident_engine_compile_loop(): jit/pipeline/loop.h behind plain structs.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "clients/c/engine_abi.h"
#include "clients/engine/result.h"
#include "jit/pipeline/loop.h"

namespace {

using trident::Error;
using trident::ErrorCode;
using trident::Result;
namespace pipeline = trident::pipeline;
using trident::engine::answer;
using trident::engine::hand_over;
using trident::engine::set_message;

/// Trials draw the same guests for the same loop.
constexpr std::uint64_t kSeed = 1;

Result<void> compile_into(const trident_engine_loop& loop, trident_engine_loop_result& result) {
  if (loop.guest > UINT8_MAX || loop.code_size > TRIDENT_LOOP_CODE_BYTES_MAX)
    return Error{ErrorCode::kInvalidArgument, "the loop's guest or size is not sound"};
  const auto* code = static_cast<const std::byte*>(loop.code);
  const pipeline::LoopSource source{.guest = static_cast<std::uint8_t>(loop.guest),
                                    .head = loop.head,
                                    .code_base = loop.code_base,
                                    .code = {code, code + loop.code_size},
                                    .joined = loop.joined != 0};
  TRY(const pipeline::LoopOutcome outcome, pipeline::compile_loop(source, {.seed = kSeed}));
  if (const auto* compiled = std::get_if<pipeline::CompiledLoop>(&outcome)) return hand_over(compiled->image, result);
  const auto& refusal = std::get<pipeline::LoopRefusal>(outcome);
  result.outcome = TRIDENT_ENGINE_REFUSED;
  result.reason = static_cast<std::uint32_t>(refusal.reason);
  result.reason_address = refusal.address;
  set_message(result, refusal.text);
  return {};
}

}  // namespace

extern "C" void trident_engine_compile_loop(const trident_engine_loop* loop, trident_engine_loop_result* result) {
  result->outcome = TRIDENT_ENGINE_ERROR;
  result->fd = -1;
  if (loop->struct_size < sizeof(*loop) || result->struct_size < sizeof(*result)) return;
  answer(*result, [&] { return compile_into(*loop, *result); });
}
