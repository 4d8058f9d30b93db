// A loop as compilers are asked for it: the daemon by a message, the engine by a plain struct.
#include <cstring>

#include "clients/c/engine_library.h"
#include "clients/c/loop.h"

namespace trident::client {
namespace {

constexpr const char* kOldEngine =
    "the engine in this process is older than this library and knows no loops: install libtrident-engine.so of the "
    "same version";

void set_message(trident_engine_result& result, const char* text) {
  std::strncpy(result.message, text, sizeof(result.message) - 1);
}

void take_over(const trident_engine_loop_result& from, EngineAnswer& to) {
  to.result.outcome = from.outcome == TRIDENT_ENGINE_IMAGE ? TRIDENT_ENGINE_IMAGE : TRIDENT_ENGINE_ERROR;
  to.result.fd = from.fd;
  to.result.size = from.size;
  to.result.digest_low = from.digest_low;
  to.result.digest_high = from.digest_high;
  std::memcpy(to.result.message, from.message, sizeof(to.result.message));
  to.is_refusal = from.outcome == TRIDENT_ENGINE_REFUSED;
  to.reason = from.reason;
  to.reason_address = from.reason_address;
}

}  // namespace

void Loop::complete(ImageClaim& claim) const {
  claim.version = TRIDENT_LOOP_IMAGE_VERSION;
  claim.code_before = head - code_base;
  claim.code_after = code_bytes.size() - claim.code_before;
}

std::uint64_t Loop::feature() const {
  return wire::kFeatureLoops;
}

void Loop::append_request(wire::Frame& out, std::uint64_t job, bool inline_images) const {
  wire::append_submit_loop(out, {job, head, code_base, code_bytes, inline_images, joined});
}

void Loop::compile(const Engine& engine, std::uint32_t, const std::atomic<bool>&, EngineAnswer& answer) {
  answer.is_last = true;
  answer.result.outcome = TRIDENT_ENGINE_ERROR;
  if (engine.compile_loop == nullptr) return set_message(answer.result, kOldEngine);
  trident_engine_loop loop{};
  loop.struct_size = sizeof(loop);
  loop.guest = TRIDENT_AARCH64;
  loop.head = head;
  loop.code_base = code_base;
  loop.code = code_bytes.data();
  loop.code_size = code_bytes.size();
  loop.isa = greatest_isa();
  loop.joined = joined ? 1 : 0;
  trident_engine_loop_result result{};
  result.struct_size = sizeof(result);
  result.fd = -1;
  engine.prepare_for(TRIDENT_ENGINE_LOOPS);
  engine.compile_loop(&loop, &result);
  take_over(result, answer);
}

void Loop::refused(std::uint32_t row, std::uint64_t address) {
  reason = row + 1;
  reason_address = address;
}

}  // namespace trident::client
