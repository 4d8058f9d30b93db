// Answers of workers and their consequences: a first kernel, a checked baseline, a better kernel, a revocation.
#include <algorithm>
#include <bit>
#include <cstring>

#include "daemon/jobs/flight.h"
#include "daemon/worker/program_message.h"
#include "runtime/log/log.h"
#include "runtime/os/clock.h"

namespace trident::jobs {
namespace {

/// Times that a check alone is tried.
constexpr std::uint32_t kChecksMax = 3;
constexpr std::uint32_t kInterimsMax = 3;
/// A worker's reason is one sentence.
constexpr std::size_t kReasonBytesMax = 500;

std::string why_not_optimised(const Error& error) {
  return "it cannot be optimised: " + error.message;
}

}  // namespace

Error error_of(const worker::ResponseHeader& header, std::string_view tail) {
  if (header.kind != worker::Kind::failed || header.code > static_cast<std::uint8_t>(ErrorCode::kBusy))
    return make_error(ErrorCode::kInternal, "the worker's answer was malformed");
  return {static_cast<ErrorCode>(header.code), std::string(tail)};
}

double ratio_of(const ImageReady& kernel) {
  return kernel.optimised_ns > 0 && kernel.baseline_ns > 0 ? kernel.optimised_ns / kernel.baseline_ns : 1;
}

ImageReady ready_of(const cache::Entry& entry) {
  const bool optimised = entry.image->header().tier == TRIDENT_TIER_OPTIMISED;
  return {entry.image, entry.baseline_ns, optimised ? entry.winner_ns : 0};
}

cache::SharedImage shared(std::string_view tail) {
  const auto bytes = std::as_bytes(std::span(tail));
  return std::make_shared<const image::ImageBytes>(image::ImageBytes{{bytes.begin(), bytes.end()}});
}

void Jobs::on_response(const worker::ResponseHeader& header, std::string_view tail) {
  const auto at = running_.find(header.ticket);
  if (at == running_.end()) return;
  const Running running = at->second;
  if (header.kind == worker::Kind::progress) return on_progress(running, header);
  if (header.kind == worker::Kind::interim)
    return running.flight != nullptr ? on_interim(*running.flight, header, tail) : void();
  running_.erase(at);
  if (running.lane == worker::Lane::baseline) heavy_users_.note(running.uid, header.cpu_ns, os::monotonic_ns());
  if (running.flight == nullptr) return header.kind == worker::Kind::kept ? pool_.forget(header.ticket) : void();
  Flight& flight = *running.flight;
  flight.ticket = 0;
  if (flight.step == Step::program) return on_program(flight, header, tail);
  if (flight.order->is_tried()) return on_tried(flight, header, tail);
  switch (header.kind) {
    case worker::Kind::baseline_image: return on_baseline(flight, shared(tail));
    case worker::Kind::kept: return wait_to_go_on(flight, header.ticket);
    case worker::Kind::outcome: return on_outcome(flight, header, tail);
    case worker::Kind::progress:
    case worker::Kind::interim:
    case worker::Kind::program:  // of another lane
    case worker::Kind::loop_image:
    case worker::Kind::loop_refused:
    case worker::Kind::function_image:  // of another order
    case worker::Kind::ready:
    case worker::Kind::failed: break;
  }
  on_failure(flight, running.lane, error_of(header, tail));
}

void Jobs::on_progress(const Running& running, const worker::ResponseHeader& header) {
  if (running.flight == nullptr) return;
  if (running.lane == worker::Lane::optimise && header.baseline_checked != 0) baseline_holds(*running.flight);
  tell_all(*running.flight, Progressed{static_cast<Stage>(header.code), header.done, header.total, header.best_ratio});
}

void Jobs::on_failure(Flight& flight, worker::Lane lane, const Error& error) {
  if (flight.renewal) return end_renewal(flight, nullptr);
  failures_.remember(flight.uid, flight.id, lane, error, os::monotonic_ns());
  if (lane == worker::Lane::baseline) return fail(flight, error);
  const bool check = flight.step == Step::check;
  if (failed_.take())
    log::warning("{} job failed: {}: {}{}", check ? "a check" : "an optimise", name_of(error.code), error.message,
                 failed_.left_out());
  check ? check_failed(flight) : keep_baseline(flight, why_not_optimised(error));
}

void Jobs::on_baseline(Flight& flight, cache::SharedImage image) {
  ++stats_.baseline_ready;
  const std::uint64_t us = (os::monotonic_ns() - flight.submitted_ns) / 1000;
  ++stats_.baseline_us_log2[std::min<std::size_t>(std::bit_width(us), stats_.baseline_us_log2.size() - 1)];
  flight.baseline = std::move(image);
  charge(flight, flight.baseline->bytes.size());
  if (flight.order->publish_unchecked) publish(flight, {flight.baseline});
  if (flight.subscribers.empty()) return remove(flight);
  if (draining_) return remove(flight);
  const std::uint64_t now = os::monotonic_ns();
  if (const Error* known = failures_.known(flight.uid, flight.id, worker::Lane::optimise, now)) {
    ++stats_.known_failures;
    flight.reason = why_not_optimised(*known);
    return wait_for_check(flight);
  }
  if (failures_.quarantined(flight.uid, flight.id, worker::Lane::optimise, now)) {
    flight.reason = "the search for a better kernel failed repeatedly; it will be tried again later";
    return wait_for_check(flight);
  }
  wait_for_optimise(flight, false);
}

/// Publishes interim forms of a job, at most three: of a large expression the source's fastest variant, the best of the
/// forms before small steps are tried, and what the search has found before the speculation. A job that is tried again
/// after a loss sends the same again.
void Jobs::on_interim(Flight& flight, const worker::ResponseHeader& header, std::string_view tail) {
  if (flight.renewal || flight.interims == kInterimsMax) return;
  cache::SharedImage image = shared(tail);
  if (flight.interim && flight.interim->bytes == image->bytes) return;
  baseline_holds(flight);
  ++flight.interims;
  flight.interim = std::move(image);
  charge(flight, flight.interim->bytes.size());
  publish(flight, {flight.interim, header.baseline_ns, header.winner_ns});
}

void Jobs::publish(Flight& flight, ImageReady ready) {
  flight.sent = std::move(ready);
  tell_all(flight, flight.sent);
}

/// The baseline was found right: whoever was to wait for that gets it now.
void Jobs::baseline_holds(Flight& flight) {
  flight.baseline_checked = true;
  if (flight.baseline && !flight.sent.image) publish(flight, {flight.baseline});
}

void Jobs::on_outcome(Flight& flight, const worker::ResponseHeader& header, std::string_view tail) {
  const auto outcome = static_cast<pipeline::Outcome>(header.code);
  const bool check = flight.step == Step::check;
  const std::string_view reason =
      outcome == pipeline::Outcome::published ? std::string_view() : tail.substr(0, kReasonBytesMax);
  if (!check) failures_.forget(flight.uid, flight.id);
  if (flight.renewal) return on_renewed(flight, header, tail);
  if (header.baseline_checked != 0 && outcome != pipeline::Outcome::not_equivalent) baseline_holds(flight);
  if (outcome == pipeline::Outcome::budget_spent || (check && outcome == pipeline::Outcome::no_gain)) {
    if (!check) flight.reason = reason;
    if (header.baseline_checked == 0) return check ? check_failed(flight) : wait_for_check(flight);
    stats_.checked_alone += check ? 1 : 0;
    return finish(flight, pipeline::Outcome::budget_spent, std::string(flight.reason));
  }
  conclude(flight, header, tail, std::string(reason));
}

/// The flight ends with a better kernel, with its baseline or with none; that goes into the cache.
void Jobs::conclude(Flight& flight, const worker::ResponseHeader& header, std::string_view tail,
                    const std::string& reason) {
  const auto outcome = static_cast<pipeline::Outcome>(header.code);
  cache::Entry entry;
  entry.outcome = header.code;
  entry.baseline_ns = header.baseline_ns;
  entry.winner_ns = header.winner_ns;
  switch (outcome) {
    case pipeline::Outcome::published:
      entry.image = shared(tail);
      publish(flight, {entry.image, header.baseline_ns, header.winner_ns, true});
      break;
    case pipeline::Outcome::no_gain:
      entry.image = flight.sent.image;
      if (!flight.interim) break;
      entry.baseline_ns = flight.sent.baseline_ns;
      entry.winner_ns = flight.sent.optimised_ns;
      break;
    case pipeline::Outcome::budget_spent: break;  // on_outcome()
    case pipeline::Outcome::not_equivalent:
      tell_of_revocation("differs from its reference", flight);
      revoke(flight);
      break;
  }
  entry.canonical = flight.canonical;
  entry.reason = reason;
  const std::uint32_t uid = flight.uid;
  const image::Key key = flight.key;
  // A key of other weights than those that the worker went by: the answer is as good, but not the key's.
  const bool of_key = flight.weights == renewals_.weights();
  finish(flight, outcome, reason);
  if (of_key) cache_.insert(uid, key, std::move(entry));
}

/// An optimise job ended without an answer: the baseline stays, checked already or now.
void Jobs::keep_baseline(Flight& flight, const std::string& reason) {
  if (flight.baseline_checked) return finish(flight, pipeline::Outcome::budget_spent, reason);
  flight.reason = reason;
  wait_for_check(flight);
}

/// A check gave no answer. Again, behind the others; in the end the baseline goes, as nobody can say that it is right.
void Jobs::check_failed(Flight& flight) {
  if (flight.checks < kChecksMax) {
    ++stats_.retried;
    return wait_for_check(flight);
  }
  tell_of_revocation("could not be checked", flight);
  for (std::uint32_t i = 0; i < kStrikesMax; ++i)  // not sent out again
    failures_.strike(flight.uid, flight.id, worker::Lane::baseline, os::monotonic_ns());
  revoke(flight);
  finish(flight, pipeline::Outcome::not_equivalent,
         "the baseline was revoked: " + std::to_string(kChecksMax) + " checks of it failed to finish");
}

void Jobs::tell_of_revocation(const char* why, const Flight& flight) {
  if (revocations_.take())
    log::error("a baseline kernel of user {} {} and is revoked: {}{}", flight.uid, why, flight.describe(),
               revocations_.left_out());
}

void Jobs::on_program(Flight& flight, const worker::ResponseHeader& header, std::string_view tail) {
  if (flight.subscribers.empty()) return remove(flight);  // counted when it was cancelled
  const Subscriber subscriber = flight.subscribers.front();
  if (header.kind == worker::Kind::program) {
    // Worked on by code that read a client's text: what it says is read again before it goes out.
    std::vector<std::uint64_t> aligned(tail.size() / sizeof(std::uint64_t) + 1);
    std::memcpy(aligned.data(), tail.data(), tail.size());
    const auto message = std::as_bytes(std::span(aligned)).first(tail.size());
    if (worker::is_program_message(message, subscriber.job)) {
      const bool cheaper = header.code != 0;
      ++(cheaper ? stats_.programs.cheaper : stats_.programs.no_gain);
      remove(flight);
      return sink_(subscriber,
                   ProgramReady{message, cheaper ? pipeline::Outcome::published : pipeline::Outcome::no_gain});
    }
    log::error("a programs worker sent a malformed message");
  }
  ++stats_.programs.failed;
  end_program(flight, error_of(header, tail));
}

void Jobs::program_lost(Flight& flight, worker::PoolEvents::Fate fate) {
  if (flight.subscribers.empty()) return remove(flight);  // counted when it was cancelled
  if (fate == worker::PoolEvents::Fate::unharmed) return wait_for_program(flight, true);
  ++stats_.programs.lost;
  end_program(flight, make_error(ErrorCode::kInternal, "the worker process ended while it built this program"));
}

void Jobs::end_program(Flight& flight, const Error& error) {
  tell_all(flight, Failed{error});
  remove(flight);
}

void Jobs::revoke(Flight& flight) {
  if (!flight.sent.image) return;
  ++stats_.revoked;
  // After an interim image that is what runs; it was compared with a reference that the baseline differs from.
  tell_all(flight, Revoked{static_cast<trident_tier>(flight.sent.image->header().tier)});
}

}  // namespace trident::jobs
