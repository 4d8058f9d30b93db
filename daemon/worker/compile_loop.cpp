#include "daemon/worker/compile_loop.h"

#include <string_view>
#include <variant>

#include "jit/pipeline/loop.h"
#include "runtime/log/log.h"
#include "runtime/os/sandbox.h"

namespace trident::worker {
namespace {

/// The stage of this process, once stage_loops() has made it.
std::unique_ptr<trials::Stage>& stage() {
  static std::unique_ptr<trials::Stage> of_all_loops;
  return of_all_loops;
}

/// memcpy of bytes: ldrb w2, [x1], #1; strb w2, [x0], #1; subs x3, x3, #1; b.ne back to the first.
constexpr std::uint32_t kWarmUp[] = {0x38401422, 0x38001402, 0xf1000463, 0x54ffffa1};

struct Reply {
  RequestSocket& front;
  ResponseHeader header;
  std::uint64_t head;

  bool operator()(const pipeline::CompiledLoop& loop) {
    header.kind = Kind::loop_image;
    header.baseline_checked = 1;  // compile_loop() has tried it
    const auto& bytes = loop.image.bytes;
    return front.send(header, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  bool operator()(const pipeline::LoopRefusal& refusal) {
    header.kind = Kind::loop_refused;
    header.code = static_cast<std::uint8_t>(refusal.reason);
    header.offset = static_cast<std::int64_t>(refusal.address - head);
    constexpr std::size_t kTextBytesMax = 500;
    return front.send(header, std::string_view(refusal.text).substr(0, kTextBytesMax));
  }
};

}  // namespace

bool compile_loop(RequestSocket& front, const RequestHeader& request, const ingest::SubmitLoop& submit) {
  if (!submit.work.ok())
    return send_failure(front, request.ticket,
                        make_error(ErrorCode::kInternal, "the daemon's front passed on a malformed loop"));
  const ingest::LoopWork& work = *submit.work;
  const std::uint64_t begun_ns = os::thread_work_ns();  // with the child of the trials
  const pipeline::LoopSource source{work.guest, work.head, work.code_base, work.code, work.joined};
  const auto outcome =
      pipeline::compile_loop(source, {.seed = request.seed, .key = request.key, .stage = stage().get()});
  const std::uint64_t cpu_ns = os::thread_work_ns() - begun_ns;
  if (!outcome.ok()) return send_failure(front, request.ticket, outcome.error(), cpu_ns);
  return std::visit(Reply{front, {.ticket = request.ticket, .cpu_ns = cpu_ns}, work.head}, *outcome);
}

void stage_loops() {
  if (auto made = pipeline::loop_stage(); made.ok())
    stage() = std::move(*made);
  else
    log::warning("trials of loops will take longer: {}", made.error().message);
  const auto bytes = std::as_bytes(std::span(kWarmUp));
  (void)pipeline::compile_loop({.code = {bytes.begin(), bytes.end()}}, {.stage = stage().get()}).ok();
}

}  // namespace trident::worker
