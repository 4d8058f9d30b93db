#include "clients/c/context.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "clients/c/engine_thread.h"
#include "clients/c/io_thread.h"
#include "clients/c/peer.h"
#include "runtime/base/submission_limits.h"
#include "runtime/os/os_error.h"
#include "schemas/stages.h"

namespace trident::client {
namespace {

/// Closed kernels that the daemon hears of only when something else is sent; more of them wake the I/O thread.
constexpr std::size_t kDroppedMax = 64;

constexpr std::string_view kClosed = "the context was closed before a compiler had finished";
constexpr std::string_view kNoIsa =
#if defined(__aarch64__)
    "no instruction set to compile for: TRIDENT_ISA=none, or a processor without NEON";
#else
    "no instruction set to compile for: TRIDENT_ISA=none, or a processor without AVX2, FMA and F16C";
#endif
constexpr std::string_view kTooManyImages = "it has mapped 8 images, the limit of one kernel";
static_assert(kMapsMax == 8);
constexpr std::string_view kTooManyWait =
    "65536 kernels of this context already wait for a compiler, which is the limit: this one stays with the "
    "interpreter";
static_assert(limits::kUnfinishedKernelsMax == 65536);

#define X(name, NAME, does) static_assert(TRIDENT_STAGE_##NAME == static_cast<int>(Stage::name) + 1);
#include "schemas/stages.def"
#undef X

std::chrono::steady_clock::time_point after(std::uint32_t timeout_ms) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
}

// So that the push_back that follows cannot fail.
template <class T>
void make_room(std::vector<T>& list) {
  if (list.size() == list.capacity()) list.reserve(std::max<std::size_t>(16, 2 * list.size()));
}

template <class T>
bool can_reserve(std::vector<T>& list, std::size_t count) try {
  list.reserve(count);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace

Pin::~Pin() {
  if (submission_ != nullptr) context_->unpin(*submission_);
}

Context::Context(Settings settings) : settings_(std::move(settings)) {
  counters.struct_size = sizeof(counters);
  register_for_fork(this);
}

Context::~Context() = default;

Result<void> Context::start() {
  if (!why_no_compiler().empty()) return {};
  if (settings_.mode == TRIDENT_MODE_EMBEDDED) {
    TRY(engine_, EngineThread::start(*this));
    return {};
  }
  if (settings_.mode != TRIDENT_MODE_DAEMON) return {};
  std::unique_lock lock(mutex);
  if (!ensure_threads()) return *no_thread;
  connect_wanted = true;
  wake_io(lock);
  lock.lock();
  changed.wait_until(lock, after(settings_.connect_timeout_ms), [&] { return connected || unreachable; });
  connect_wanted = false;
  if (connected) return {};
  return make_error(
      ErrorCode::kDisconnected, "no daemon: %s",
      last_failure.empty() ? (settings_.socket_path + ": it does not answer").c_str() : last_failure.c_str());
}

void Context::close() {
  {
    std::unique_lock lock(mutex);
    stopping = true;
    if (engine_) engine_->wake();
    wake_io(lock);
  }
  if (io_) io_->join();
  if (engine_) {
    {
      const std::lock_guard lock(mutex);
      engine_->wake();  // the I/O thread may have started it after the look above
    }
    engine_->join();
  }
  {
    const std::lock_guard lock(mutex);
    jobs.for_each([&](Submission& submission) {
      end_job(submission, kClosed);
      submission.slot.end_detour();
    });
    changed.notify_all();
  }
  io_.reset();
  engine_.reset();
  team.stop();
  {
    const std::lock_guard lock(mutex);  // a child closes what it finds here, and no other file of that number
    if (wake_fd_ >= 0) ::close(wake_fd_);
    wake_fd_ = -1;
  }
  release();
}

void Context::hold() {
  const std::lock_guard lock(mutex);
  ++references_;
}

/// Drops one reference; the last one frees the context.
void Context::release() {
  {
    const std::lock_guard lock(mutex);
    if (--references_ != 0) return;
  }
  unregister_for_fork(this);
  delete this;
}

/// Why nothing of this context can ever be compiled; empty when it can.
std::string_view Context::why_no_compiler() const {
  if (is_privileged_process()) return "a setuid program asks no compiler";
  if (settings_.mode == TRIDENT_MODE_INTERP) return "mode interp asks no compiler";
  if (greatest_isa() == 0) return kNoIsa;
  return exec_denial_;
}

/// Needs the mutex. Nothing more will come for the submission.
void Context::end_job(Submission& submission, std::string_view why) {
  if (submission.state == JobState::finished) return;
  submission.state = JobState::finished;
  submission.slot.end_resting_detour();
  --unfinished;
  submission.set_note(why);
}

/// Starts the threads that this context's mode needs and that do not run yet (also in a forked child). In mode embedded
/// the engine takes the fresh jobs. Returns false, with the reason in `no_thread`, where there is none. Needs the
/// mutex.
bool Context::ensure_threads() try {
  no_thread.reset();
  if (settings_.mode == TRIDENT_MODE_EMBEDDED) {
    if (!engine_) {
      auto engine = EngineThread::start(*this);
      if (!engine) {
        engine_failure = engine.error().message;
        no_thread = engine.error();
        return false;
      }
      engine_ = std::move(engine).value();
    }
    for (const std::uint64_t job : fresh) engine_->add(job);
    fresh.clear();
    return true;
  }
  if (io_) return true;
  if (wake_fd_ < 0) wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) return no_thread = os::os_error("eventfd"), false;
  auto io = std::make_unique<IoThread>(*this);
  if (const auto started = io->start(); !started) return no_thread = started.error(), false;
  io_ = std::move(io);
  return true;
} catch (const std::bad_alloc&) {
  no_thread = Error{ErrorCode::kOutOfMemory, {}};
  return false;
}

EngineThread* Context::engine() {
  {
    const std::lock_guard lock(mutex);
    if (engine_tried_) return engine_.get();
    engine_tried_ = true;
  }
  auto engine = EngineThread::start(*this);
  const std::lock_guard lock(mutex);
  if (engine)
    engine_ = std::move(engine).value();
  else
    engine_failure = engine.error().message;
  return engine_.get();
}

void Context::wake_io(std::unique_lock<std::mutex>& lock) {
  const bool sleeping = std::exchange(io_sleeping, false);
  const int fd = wake_fd_;
  io_called = true;
  lock.unlock();
  if (!sleeping) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(fd, &one, sizeof(one));
}

void Context::add(Submission& submission) {
  std::unique_lock lock(mutex);
  make_room(fresh);
  submission.job = jobs.add(&submission);
  ++references_;
  ++counters.submitted;
  ++unfinished;
  look_ns = std::min(look_ns, rested_ns);
  if (const std::string_view why = why_no_compiler(); !why.empty()) {
    submission.slot.end_detour();
    return end_job(submission, why);
  }
  if (stopping) return end_job(submission, kClosed);
  if (unfinished > limits::kUnfinishedKernelsMax) {
    ++counters.errors;
    return end_job(submission, kTooManyWait);
  }
  fresh.push_back(submission.job);
  if (!ensure_threads()) return;  // the next submission tries again; the interpreter answers meanwhile
  if (settings_.mode != TRIDENT_MODE_EMBEDDED) wake_io(lock);
}

std::unique_lock<std::mutex> Context::lock_outside_callback(const Submission& submission) {
  std::unique_lock lock(mutex);
  changed.wait(lock,
               [&] { return !submission.in_callback || pthread_equal(submission.callback_thread, pthread_self()); });
  return lock;
}

void Context::remove(Submission& submission) {
  std::unique_lock lock = lock_outside_callback(submission);
  jobs.erase(submission.job);
  if (submission.state != JobState::finished) --unfinished;
  const bool pinned = !submission.slot.close();
  if (pinned) submission.next_closing = std::exchange(closing, &submission);
  const bool daemon_works = submission.state == JobState::sent;
  if (connected && submission.sends != 0) {
    try {
      dropped.push_back(submission.job);
    } catch (const std::bad_alloc&) {  // the daemon forgets it when the connection ends
    }
  }
  if (daemon_works || dropped.size() >= kDroppedMax) {
    wake_io(lock);
  } else {
    lock.unlock();
  }
  if (pinned) return;  // unpin() frees it
  delete &submission.owner;
  release();
}

Result<void> Context::wait(Submission& submission, std::uint32_t tier, std::uint32_t timeout_ms) {
  std::unique_lock lock(mutex);
  const auto reached = [&] { return submission.slot.tier() >= tier || submission.state == JobState::finished; };
  if (submission.state == JobState::waiting) {
    const bool runs = ensure_threads();
    if (!runs && !reached()) return *no_thread;
    if (runs && settings_.mode != TRIDENT_MODE_EMBEDDED) {
      wake_io(lock);
      lock.lock();
    }
  }
  if (changed.wait_until(lock, after(timeout_ms), reached)) return {};
  const std::string why = why_waiting();
  return make_error(ErrorCode::kTimeout, "tier %u was not reached in %u ms%s%s", tier, timeout_ms,
                    why.empty() ? "" : "; ", why.c_str());
}

Result<std::string> Context::daemon_stats(std::uint32_t timeout_ms) {
  const auto no_daemon = [&] { return make_error(ErrorCode::kDisconnected, "no daemon: %s", last_failure.c_str()); };
  if (settings_.mode == TRIDENT_MODE_INTERP || settings_.mode == TRIDENT_MODE_EMBEDDED)
    return make_error(ErrorCode::kDisconnected, "no daemon: the context's mode asks none");
  StatsRequest request;
  std::unique_lock lock(mutex);
  if (stopping) return no_daemon();
  if (!ensure_threads()) return *no_thread;
  request.id = ++last_stats_id_;
  stats_requests.push_back(&request);
  wake_io(lock);
  lock.lock();
  const auto ended = [&] { return request.answered || request.failed; };
  if (!changed.wait_until(lock, after(timeout_ms), ended)) {
    std::erase(stats_requests, &request);
    return make_error(ErrorCode::kTimeout, "the daemon did not answer in %u ms", timeout_ms);
  }
  if (request.failed) return no_daemon();
  return std::move(request.json);
}

void Context::tell_seen(const Submission& submission, const wire::LoopSeen& told) {
  std::unique_lock lock(mutex);
  if (!connected || submission.sends == 0) return;
  const auto same = [&](const wire::LoopSeen& one) { return one.job == submission.job; };
  const auto known = std::find_if(seen.begin(), seen.end(), same);
  if (known != seen.end()) return known->add(told);
  seen.push_back(told);
  seen.back().job = submission.job;
  wake_io(lock);
}

trident_stats Context::stats() {
  const std::lock_guard lock(mutex);
  trident_stats copy = counters;
  copy.connected = connected ? 1 : 0;
  return copy;
}

Pin Context::pin(std::uint64_t job) {
  const std::lock_guard lock(mutex);
  Submission* submission = jobs.find(job);
  if (submission == nullptr) return {};
  submission->slot.pin();
  return {*this, *submission};
}

void Context::unpin(Submission& submission) {
  {
    const std::lock_guard lock(mutex);
    if (!submission.slot.unpin()) return;
    Submission** link = &closing;
    while (*link != &submission) link = &(*link)->next_closing;
    *link = submission.next_closing;
  }
  delete &submission.owner;
  release();
}

/// Returns the sentence that a job ends with: `why`, unless its note already says why it lacks the tier that `end`
/// promises (an image that was refused, say). Needs the mutex.
std::string_view Context::last_note(const Submission& submission, End end, std::string_view why) {
  const std::uint8_t expected = end == End::gain      ? TRIDENT_TIER_OPTIMISED
                                : end == End::no_gain ? TRIDENT_TIER_BASELINE
                                                      : TRIDENT_TIER_INTERPRETER;
  return submission.note != nullptr && submission.slot.tier() < expected ? submission.note : why;
}

/// Reports a change. Needs the lock and a pinned submission, and gives the lock up: the thread that wakes finds it
/// free.
void Context::tell_change(Submission& submission, std::unique_lock<std::mutex>& lock) {
  if (submission.in_callback) {
    changed.notify_all();
    changed.wait(lock, [&] { return !submission.in_callback; });
  }
  if (submission.owner.listens() && !submission.slot.is_closed()) {
    submission.in_callback = true;
    submission.callback_thread = pthread_self();
    submission.owner.tell(lock);
    submission.in_callback = false;
  }
  lock.unlock();
  changed.notify_all();
}

Result<void> Context::deliver(std::uint64_t job, Delivery delivery) {
  const Pin submission = pin(job);
  if (!submission) return {};
  const auto& claim = delivery.claim;
  {
    const std::lock_guard lock(mutex);
    submission->answered = true;
    if (submission->slot.is_full()) submission->set_note(kTooManyImages);
    if (!submission->slot.wants(claim.tier, claim.digest_low, claim.digest_high)) return {};
    submission->owner.complete(delivery.claim);
  }
  auto map = delivery.inline_image ? map_image_bytes(delivery.bytes, claim) : map_image(delivery.file, claim);
  std::unique_lock lock(mutex);
  if (!map) {
    ++counters.rejected_images;
    submission->set_note(map.error().message);
    return map.error();
  }
  if (!submission->slot.wants(claim.tier, claim.digest_low, claim.digest_high)) return {};
  submission->slot.publish(std::move(map).value());
  submission->set_note({});
  if (delivery.baseline_ns > 0) submission->baseline_ns = delivery.baseline_ns;
  if (delivery.optimised_ns > 0) submission->optimised_ns = delivery.optimised_ns;
  ++(claim.tier == TRIDENT_TIER_OPTIMISED ? counters.optimised_received : counters.baseline_received);
  const bool speculates = submission->slot.speculates();
  tell_change(*submission, lock);
  if (speculates) look_soon();
  return {};
}

/// Returns why a waiting job waits; empty when nothing is wrong. Needs the mutex.
std::string Context::why_waiting() const {
  if (no_thread && engine_failure.empty())
    return "no thread can be started: " + (no_thread->message.empty() ? "out of memory" : no_thread->message);
  if (connected || (last_failure.empty() && engine_failure.empty())) return {};
  std::string why = last_failure.empty() ? std::string() : "no daemon: " + last_failure;
  if (!engine_failure.empty()) why += (why.empty() ? "no engine: " : "; no engine: ") + engine_failure;
  return why;
}

const char* Context::note_of(Submission& submission) {
  const std::lock_guard lock(mutex);
  if (submission.state == JobState::waiting) submission.set_note(why_waiting());
  return submission.note;
}

/// Notes progress for trident_info(); drops reports that are late or make no sense.
void Context::note_progress(const wire::Progress& progress) {
  if (progress.stage >= kStageCount || progress.done > progress.total) return;
  if (!(progress.best_ratio >= 0 && progress.best_ratio <= 1)) return;
  const std::lock_guard lock(mutex);
  Submission* submission = jobs.find(progress.job);
  if (submission == nullptr || submission->state != JobState::sent) return;
  submission->answered = true;
  submission->stage = static_cast<std::uint32_t>(progress.stage) + 1;
  submission->stage_done = progress.done;
  submission->stage_total = progress.total;
  submission->best_ratio = progress.best_ratio;
}

void Context::revoke(std::uint64_t job, std::uint8_t tier, std::string_view why) {
  const Pin submission = pin(job);
  if (!submission) return;
  std::unique_lock lock(mutex);
  submission->slot.revoke(tier);
  if (submission->slot.tier() == TRIDENT_TIER_INTERPRETER) submission->set_note(why);
  tell_change(*submission, lock);
}

void Context::refuse(std::uint64_t job, std::uint32_t reason, std::uint64_t address, std::string_view why) {
  {
    const std::lock_guard lock(mutex);
    const Submission* submission = jobs.find(job);
    if (submission == nullptr || submission->state == JobState::finished) return;
    submission->owner.refused(reason, address);
  }
  finish(job, End::refused, why);
}

void Context::finish(std::uint64_t job, End end, std::string_view why) {
  const Pin submission = pin(job);
  if (!submission) return;
  std::unique_lock lock(mutex);
  if (submission->state == JobState::finished || submission->slot.is_closed()) return;
  end_job(*submission, last_note(*submission, end, why));
  if (end == End::no_gain || end == End::revoked) ++counters.no_gain;
  if (end == End::failed) ++counters.errors;
  tell_change(*submission, lock);
}

void Context::finish_all(std::string_view why) {
  std::vector<Pin> ended;
  {
    const std::lock_guard lock(mutex);
    exec_denial_ = why;
    std::size_t count = 0;
    jobs.for_each([&](const Submission& submission) { count += submission.state == JobState::finished ? 0 : 1; });
    const bool room = can_reserve(ended, count);  // without memory the states still end, and who waits is woken
    jobs.for_each([&](Submission& submission) {
      if (submission.state == JobState::finished) return;
      end_job(submission, why);
      if (!room) return;
      submission.slot.pin();
      ended.emplace_back(*this, submission);
    });
    fresh.clear();
    changed.notify_all();
  }
  for (const Pin& submission : ended) {
    std::unique_lock lock(mutex);
    tell_change(*submission, lock);
  }
}

}  // namespace trident::client
