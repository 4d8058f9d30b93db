// A context's looks at the data of its kernels' calls, and the way of what they find to a compiler (data_watch.h).
#include <algorithm>
#include <mutex>
#include <utility>

#include "clients/c/context.h"
#include "clients/c/engine_thread.h"
#include "runtime/os/clock.h"

namespace trident::client {
namespace {

/// Time between looks, as a multiple of what one takes.
constexpr std::uint64_t kRest = 50;

/// The daemon is told each doubling.
bool wants_to_tell_calls(const Submission& submission) {
  return submission.owner.called() > 2 * submission.called_told;
}

}  // namespace

void Context::tell_observed(Submission& submission, std::vector<wire::Range> ranges) {
  std::unique_lock lock(mutex);
  if (!submission.observed.empty() || ranges.empty() || stopping) return;
  if (settings_.mode == TRIDENT_MODE_INTERP) return;
  submission.observed = std::move(ranges);
  submission.observed_told = false;
  if (pass_on_observed(submission) && connected && submission.state != JobState::waiting) wake_io(lock);
}

/// Gives ranges that were not told to whoever compiles the job. Returns whether that is, or may become, the daemon.
/// Needs the mutex.
bool Context::pass_on_observed(Submission& submission) {
  if (submission.by_engine && engine_) {
    engine_->observe(submission);
    return false;
  }
  has_observed = true;
  return true;
}

void Context::look(std::uint64_t now_ns) {
  if (now_ns < look_ns) return;
  look_ns = UINT64_MAX;
  jobs.for_each([&](Submission& submission) {
    const bool was_told = submission.observed_told;
    look_ns = std::min(look_ns, submission.owner.look(now_ns));
    if (was_told && !submission.observed_told) pass_on_observed(submission);
    has_called |= submission.state == JobState::sent && wants_to_tell_calls(submission);
  });
  const std::uint64_t end_ns = os::monotonic_ns();
  rested_ns = end_ns + kRest * (end_ns - now_ns);
  look_ns = std::max(look_ns, rested_ns);
}

void Context::look_soon() {
  std::unique_lock lock(mutex);
  look_ns = std::min(look_ns, rested_ns);
  if (engine_) engine_->wake();
  if (settings_.mode != TRIDENT_MODE_EMBEDDED) wake_io(lock);
}

}  // namespace trident::client
