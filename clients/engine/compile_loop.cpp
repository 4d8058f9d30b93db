// trident_engine_compile_loop(): jit/pipeline/loop.h behind plain structs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <variant>

#include "clients/c/engine_abi.h"
#include "jit/image/image.h"
#include "jit/pipeline/loop.h"
#include "runtime/base/float_environment.h"

namespace {

using trident::Error;
using trident::ErrorCode;
using trident::Result;
namespace image = trident::image;
namespace pipeline = trident::pipeline;

/// Trials draw the same guests for the same loop.
constexpr std::uint64_t kSeed = 1;

void say(trident_engine_loop_result& result, std::string_view text) {
  const std::size_t size = std::min(text.size(), sizeof(result.message) - 1);
  std::memcpy(result.message, text.data(), size);
  result.message[size] = '\0';
}

Result<void> hand_over_loop(const pipeline::CompiledLoop& compiled, trident_engine_loop_result& result) {
  TRY(trident::os::Fd file, image::seal(compiled.image));
  const trident_image_header& header = compiled.image.header();
  result.size = header.total_size;
  result.digest_low = header.digest[0];
  result.digest_high = header.digest[1];
  result.fd = file.release();
  result.outcome = TRIDENT_ENGINE_IMAGE;
  return {};
}

Result<void> compile_into(const trident_engine_loop& loop, trident_engine_loop_result& result) {
  if (loop.guest > UINT8_MAX || loop.code_size > TRIDENT_LOOP_CODE_BYTES_MAX)
    return Error{ErrorCode::kInvalidArgument, "the loop's guest or size is not sound"};
  const auto* code = static_cast<const std::byte*>(loop.code);
  const pipeline::LoopSource source{.guest = static_cast<std::uint8_t>(loop.guest),
                                    .head = loop.head,
                                    .code_base = loop.code_base,
                                    .code = {code, code + loop.code_size}};
  TRY(const pipeline::LoopOutcome outcome, pipeline::compile_loop(source, {.seed = kSeed}));
  if (const auto* compiled = std::get_if<pipeline::CompiledLoop>(&outcome)) return hand_over_loop(*compiled, result);
  const auto& refusal = std::get<pipeline::LoopRefusal>(outcome);
  result.outcome = TRIDENT_ENGINE_REFUSED;
  result.reason = static_cast<std::uint32_t>(refusal.reason);
  result.reason_address = refusal.address;
  say(result, refusal.text);
  return {};
}

}  // namespace

extern "C" void trident_engine_compile_loop(const trident_engine_loop* loop, trident_engine_loop_result* result) {
  result->outcome = TRIDENT_ENGINE_ERROR;
  result->fd = -1;
  if (loop->struct_size < sizeof(*loop) || result->struct_size < sizeof(*result)) return;
  const trident::StandardFloats floats;
  try {
    const Result<void> done = compile_into(*loop, *result);
    if (!done) say(*result, done.error().message);
  } catch (const std::bad_alloc&) {
    say(*result, "out of memory");
  } catch (...) {
    say(*result, "internal error");
  }
}
