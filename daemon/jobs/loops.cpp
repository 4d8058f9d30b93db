// Answers of workers about guests' loops and functions, whose images have been tried, and what clients tell of loops.
#include "daemon/jobs/flight.h"
#include "runtime/log/log.h"
#include "runtime/os/clock.h"

namespace trident::jobs {
namespace {

/// A client may say anything; a sum does not wrap for it.
void add_told(std::uint64_t& sum, std::uint64_t told) {
  if (__builtin_add_overflow(sum, told, &sum)) sum = ~std::uint64_t{0};
}

}  // namespace

TriedStats& Jobs::tried_stats_of(const Order& order) {
  return order.loop ? static_cast<TriedStats&>(stats_.loops) : stats_.functions;
}

void Jobs::on_tried(Flight& flight, const worker::ResponseHeader& header, std::string_view tail) {
  using worker::Kind;
  if (flight.order->loop && header.kind == Kind::loop_refused)
    return refuse_loop(flight, {header.code, header.offset, std::string(tail)});
  if (header.kind != (flight.order->loop ? Kind::loop_image : Kind::function_image))
    return trials_failed(flight, error_of(header, tail));
  ++tried_stats_of(*flight.order).compiled;
  cache::Entry entry;
  entry.outcome = static_cast<std::uint8_t>(pipeline::Outcome::published);
  entry.image = shared(tail);
  entry.canonical = flight.canonical;
  const std::uint32_t uid = flight.uid;
  const image::Key key = flight.key;
  publish(flight, {.image = entry.image, .more = true});
  tell_all(flight, Finished{pipeline::Outcome::published});
  remove(flight);
  cache_.insert(uid, key, std::move(entry));
}

/// A trial that ends otherwise than the interpreter's run is our mistake. Nobody gets the code, and the log says it.
void Jobs::trials_failed(Flight& flight, const Error& error) {
  const bool wrong = error.code == ErrorCode::kNotEquivalent;
  tried_stats_of(*flight.order).not_equivalent += wrong ? 1 : 0;
  if (wrong && revocations_.take())
    log::error("code of {} has failed its trials: {}{}", flight.describe(), error.message, revocations_.left_out());
  on_failure(flight, worker::Lane::baseline, error);
}

void Jobs::refuse_loop(Flight& flight, const LoopRefused& refusal) {
  failures_.remember(flight.uid, flight.id, worker::Lane::baseline, {ErrorCode::kUnsupported, refusal.text},
                     os::monotonic_ns(), PastFailure::LoopReason{refusal.reason, refusal.offset});
  stats_.loops.refused[refusal.reason] += flight.subscribers.size();
  tell_all(flight, refusal);
  remove(flight);
}

void Jobs::note_seen(const ingest::LoopSeen& seen) {
  add_told(stats_.loops.entries, seen.entries);
  add_told(stats_.loops.iterations, seen.iterations);
  add_told(stats_.loops.guest_ns, seen.guest_ns);
  add_told(stats_.loops.kernel_ns, seen.kernel_ns);
}

}  // namespace trident::jobs
