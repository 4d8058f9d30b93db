// The thread that talks to the daemon: its answers, one function for each kind of message.
#include <algorithm>

#include "clients/c/engine_thread.h"
#include "clients/c/io_thread.h"
#include "runtime/os/clock.h"

namespace trident::client {
namespace {

/// Refused images after which a daemon is given up for a while.
constexpr std::uint32_t kRefusedImagesMax = 16;
/// A daemon that says "busy" is left alone at least this long, whatever it asks for.
constexpr std::uint64_t kBusyMinMs = 10;

Context::End end_of(wire::Done::Outcome outcome) {
  if (outcome == wire::Done::Outcome::published) return Context::End::gain;
  return outcome == wire::Done::Outcome::not_equivalent ? Context::End::revoked : Context::End::no_gain;
}

/// Why nothing better came, in the daemon's words if it has said them (an older one has not).
std::string_view reason_of(const wire::Done& done) {
  if (done.outcome == wire::Done::Outcome::published) return {};
  if (!done.reason.empty()) return done.reason;
  switch (done.outcome) {
    case wire::Done::Outcome::published: return {};
    case wire::Done::Outcome::no_gain: return "the daemon's search found nothing faster than the baseline code";
    case wire::Done::Outcome::budget_spent: return "the daemon's search ended before anything faster was found";
    case wire::Done::Outcome::not_equivalent:
      return "the daemon revoked the code: its check against a reference failed";
  }
  return {};
}

}  // namespace

void IoThread::on(const wire::Welcome& welcome, os::Fd) {
  if (welcome.version < wire::kVersionMin || welcome.version > wire::kVersionMax) {
    broken_ = make_error(ErrorCode::kUnsupported, "the daemon speaks protocol version %u, which this client does not",
                         welcome.version);
    return;
  }
  if (welcomed_) return;
  welcomed_ = true;
  features_ = welcome.features;
  deadline_ns_ = 0;
  attempts_ = 0;
  connected_ns_ = os::monotonic_ns();
  allowance_ = Allowance(connected_ns_);
  watch_ = AnswerWatch(connected_ns_);
  const std::lock_guard lock(context_.mutex);
  context_.connected = true;
  context_.unreachable = false;
  context_.connect_wanted = false;
  if (ever_connected_) ++context_.counters.reconnects;
  ever_connected_ = true;
  if (engine_ != nullptr && given_up_ == 0) engine_->give_back(waiting_);
  context_.changed.notify_all();
}

/// Work of a loop begins with its trials, so this is for long its only answer.
void IoThread::on(const wire::Accepted& accepted, os::Fd) {
  const std::lock_guard lock(context_.mutex);
  Submission* submission = context_.jobs.find(accepted.job);
  if (submission != nullptr && submission->owner.feature() != 0) submission->answered = true;
}

void IoThread::on(const wire::LoopRefused& refused, os::Fd) {
  hold_until_ns_ = 0;
  context_.refuse(refused.job, refused.reason, refused.address, refused.text);
}

void IoThread::on(wire::KernelReady& ready, os::Fd image) {
  Delivery delivery;
  delivery.claim.size = ready.size;
  delivery.claim.digest_low = ready.digest_low;
  delivery.claim.digest_high = ready.digest_high;
  delivery.claim.tier = ready.tier;
  delivery.file = std::move(image);
  delivery.inline_image = ready.inline_image;
  delivery.bytes = std::move(ready.image);
  delivery.baseline_ns = ready.baseline_ns;
  delivery.optimised_ns = ready.optimised_ns;
  const auto delivered = context_.deliver(ready.job, std::move(delivery));
  if (delivered) return;
  if (delivered.error().code == ErrorCode::kExecDenied) return context_.finish_all(delivered.error().message);
  if (++refused_images_ >= kRefusedImagesMax) broken_ = delivered.error();
}

void IoThread::on(const wire::Revoke& revoke, os::Fd) {
  context_.revoke(revoke.job, revoke.tier, "the daemon has revoked its code");
}

void IoThread::on(const wire::Done& done, os::Fd) {
  hold_until_ns_ = 0;  // a place in the daemon's queue is free
  context_.finish(done.job, end_of(done.outcome), reason_of(done));
}

void IoThread::on(const wire::Failure& failure, os::Fd) {
  const bool busy = failure.code == static_cast<std::uint8_t>(ErrorCode::kBusy);
  const std::uint64_t pause_ns = std::clamp<std::uint64_t>(failure.retry_after_ms, kBusyMinMs, kDelayMaxMs) * kMs;
  if (failure.job == 0) {  // the daemon will close
    broken_ = make_error(busy ? ErrorCode::kBusy : ErrorCode::kUnsupported, "daemon: %s", failure.message.c_str());
    return;
  }
  if (!busy) return context_.finish(failure.job, Context::End::failed, "the daemon refused it: " + failure.message);
  hold_until_ns_ = os::monotonic_ns() + pause_ns;
  const std::lock_guard lock(context_.mutex);
  Submission* submission = context_.jobs.find(failure.job);
  if (submission == nullptr || submission->state != JobState::sent) return;
  submission->state = JobState::waiting;
  --submission->sends;
  waiting_.push_front(failure.job);
}

void IoThread::on(const wire::Stats& stats, os::Fd) {
  const std::lock_guard lock(context_.mutex);
  auto& requests = context_.stats_requests;
  const auto found = std::find_if(requests.begin(), requests.end(),
                                  [&](const StatsRequest* request) { return request->id == stats.request; });
  if (found == requests.end()) return;
  (*found)->json = stats.json;
  (*found)->answered = true;
  requests.erase(found);
  context_.changed.notify_all();
}

}  // namespace trident::client
