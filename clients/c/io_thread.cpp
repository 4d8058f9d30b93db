#include "clients/c/io_thread.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "clients/c/engine_thread.h"
#include "clients/c/peer.h"
#include "clients/c/quiet_thread.h"
#include "runtime/base/float_environment.h"
#include "runtime/os/clock.h"

namespace trident::client {
namespace {

/// Delay after a daemon that speaks another protocol: it may be upgraded one day.
constexpr std::uint64_t kDelaySkewMs = 60'000;
/// A daemon that has accepted a connection says welcome within this time, and ends a frame that it began.
constexpr std::uint64_t kWelcomeMs = 5000;
/// Time without a welcome after which the engine takes over; the wait for the connection goes on.
constexpr std::uint64_t kWelcomeSoonMs = 1000;
/// A daemon that hangs or floods is left alone for kDelayMaxMs, and each time in a row twice as long up to this.
constexpr std::uint64_t kGivenUpMaxMs = 60'000;
/// A connection that has done well for this long makes up for the daemon's past.
constexpr std::uint64_t kGoodMs = 60'000;
/// One that has lasted for this long is followed by a quick attempt; a daemon that hangs up at once is left alone for
/// longer each time.
constexpr std::uint64_t kSteadyMs = 250;
/// The number of the question whether the daemon is there; StatsRequests have others.
constexpr std::uint64_t kProbe = 0;
constexpr std::uint64_t kFrameMs = 30'000;
/// Submissions are encoded only while fewer bytes than this wait for the socket.
constexpr std::size_t kOutgoingBytesMax = 256 * 1024;
/// Attempts in a row before the engine takes over from a daemon that was there before (about 3 s).
constexpr std::uint32_t kAttemptsBeforeEngine = 6;
constexpr std::size_t kIoStackBytes = 512 * 1024;

constexpr std::string_view kLostTooOften = "it was sent 100 times, and each time the connection to the daemon broke";
static_assert(kSendsMax == 100);
constexpr std::string_view kOldDaemon = "the daemon is older than this library and knows no such jobs";
constexpr std::string_view kNoAnswer = "the daemon answers, but said nothing of this job in time";

}  // namespace

IoThread::IoThread(Context& context)
    : context_(context),
      delay_ms_(kDelayMinMs),
      jitter_state_((os::monotonic_ns() ^ static_cast<std::uint64_t>(::getpid()) << 32) | 1) {}

Result<void> IoThread::start() {
  TRY(thread_, start_quiet_thread("trident-io", kIoStackBytes, &IoThread::main, this));
  started_ = true;
  return {};
}

void IoThread::join() {
  if (started_) pthread_join(thread_, nullptr);
  started_ = false;
}

void* IoThread::main(void* self) {
  const StandardFloats floats;  // not those of the thread that has started this one
  static_cast<IoThread*>(self)->run();
  return nullptr;
}

void IoThread::run() {
  bool running = true;
  while (running) {
    try {
      running = turn();
    } catch (const std::bad_alloc&) {
      // Memory ran out in the middle of a turn: the connection is in an unknown state, the jobs are not.
      lose(Error{ErrorCode::kOutOfMemory, {}}, os::monotonic_ns());
      ::poll(nullptr, 0, static_cast<int>(kDelayMinMs));
    }
  }
  const std::lock_guard lock(context_.mutex);
  context_.socket_fd = -1;
  context_.connected = false;
}

/// One round of everything; false when the context closes.
bool IoThread::turn() {
  if (!take_jobs()) return false;
  const std::uint64_t now = os::monotonic_ns();
  connect(now);
  give_to_engine(now);
  send_requests(now);
  if (sleep()) receive();
  check_deadlines();
  return true;
}

/// False when the context closes.
bool IoThread::take_jobs() {
  const std::lock_guard lock(context_.mutex);
  context_.io_sleeping = false;
  context_.io_called = false;
  context_.look(os::monotonic_ns());
  if (rescan_) {  // after a loss: whatever is waiting, queued before or not
    waiting_.clear();
    context_.jobs.for_each([&](const Submission& submission) {
      if (submission.state == JobState::waiting) waiting_.push_back(submission.job);
    });
    rescan_ = false;
  } else {
    waiting_.insert(waiting_.end(), context_.fresh.begin(), context_.fresh.end());
  }
  context_.fresh.clear();
  // Closed submissions leave their numbers behind.
  if (waiting_.size() > 2 * context_.unfinished + kStaleMax) {
    std::erase_if(waiting_, [&](std::uint64_t job) { return context_.jobs.find(job) == nullptr; });
  }
  if (context_.unfinished != 0 && std::exchange(idle_, false)) watch_.heard(os::monotonic_ns());
  return !context_.stopping;
}

/// Returns true when there is work for a daemon. Jobs in the engine's queues count too: the engine is slow and runs in
/// this process. Needs the context's mutex.
bool IoThread::wants_daemon() const {
  return !waiting_.empty() || context_.connect_wanted || !context_.stats_requests.empty() ||
         (engine_ != nullptr && engine_->has_waiting());
}

void IoThread::connect(std::uint64_t now) {
  if (connection_ || now < next_attempt_ns_) return;
  {
    const std::lock_guard lock(context_.mutex);
    if (!wants_daemon()) return;
  }
  auto socket = connect_to_daemon(context_.settings().socket_path);
  if (!socket) return lose(socket.error(), now);
  connection_.emplace(std::move(socket).value());
  wire::append_hello(connection_->outgoing(), greatest_isa());
  connected_ns_ = now;
  deadline_ns_ = now + kWelcomeMs * kMs;
  const std::lock_guard lock(context_.mutex);
  context_.socket_fd = connection_->fd();
}

/// Gives the connection up, if there is one, and plans the next attempt. Allocates nothing when `why` has no text.
void IoThread::lose(const Error& why, std::uint64_t now) {
  if (welcomed_ && now - connected_ns_ >= kGoodMs * kMs) given_up_ = 0;
  if (welcomed_ && now - connected_ns_ >= kSteadyMs * kMs) delay_ms_ = kDelayMinMs;
  if (connection_ && connection_->lost_descriptors()) inline_images_ = true;
  {
    const std::lock_guard lock(context_.mutex);
    context_.socket_fd = -1;
    context_.connected = false;
    ++context_.failed_attempts;
    const bool answered_otherwise = why.code == ErrorCode::kRejectedMessage || why.code == ErrorCode::kDisconnected;
    context_.last_failure = why.message;
    if (connection_ && !welcomed_ && answered_otherwise && !why.message.empty()) {
      context_.last_failure = context_.settings().socket_path +
                              ": whoever listens there is no daemon of Trident, or refuses: " + why.message;
    }
    context_.unreachable = why.code == ErrorCode::kOsError;
    for (StatsRequest* request : context_.stats_requests) request->failed = true;
    context_.stats_requests.clear();
    context_.dropped.clear();
    context_.seen.clear();
    context_.jobs.for_each([&](Submission& submission) {
      if (submission.state != JobState::sent) return;
      submission.state = JobState::waiting;
      submission.called_told = 0;
      submission.observed_told = submission.observed.empty();
      context_.has_observed |= !submission.observed_told;
    });
    context_.changed.notify_all();
  }
  rescan_ = true;
  connection_.reset();
  broken_.reset();
  welcomed_ = false;
  refused_images_ = 0;
  deadline_ns_ = 0;
  hold_until_ns_ = 0;
  ++attempts_;
  next_attempt_ns_ = now + pause_ms(why.code) * kMs;
}

/// Loses a connection to a daemon that does harm, or no good.
void IoThread::give_up_daemon(const char* why, std::uint64_t now) {
  lose(make_error(ErrorCode::kDisconnected, "%s: %s", context_.settings().socket_path.c_str(), why), now);
  ++given_up_;
  next_attempt_ns_ = now + pause_ms(ErrorCode::kDisconnected) * kMs;
}

/// The time until the next attempt, with a quarter of jitter to both sides.
std::uint64_t IoThread::pause_ms(ErrorCode why) {
  std::uint64_t pause = delay_ms_;
  delay_ms_ = std::min(2 * delay_ms_, kDelayMaxMs);
  if (why == ErrorCode::kUnsupported) pause = kDelaySkewMs;
  if (why == ErrorCode::kRejectedMessage || why == ErrorCode::kRejectedImage) pause = kDelayMaxMs;
  if (given_up_ != 0) pause = std::max(pause, std::min(kDelayMaxMs << std::min(given_up_ - 1, 8u), kGivenUpMaxMs));
  jitter_state_ ^= jitter_state_ << 13;
  jitter_state_ ^= jitter_state_ >> 7;
  jitter_state_ ^= jitter_state_ << 17;
  return pause - pause / 4 + jitter_state_ % (pause / 2 + 1);
}

/// Time from which the engine takes waiting jobs; kNever while the daemon is there or is expected.
std::uint64_t IoThread::takeover_ns() const {
  if (welcomed_ || context_.settings().mode != TRIDENT_MODE_AUTO) return AnswerWatch::kNever;
  if (given_up_ != 0) return 0;
  if (connection_) return connected_ns_ + kWelcomeSoonMs * kMs;
  const bool away = attempts_ >= (ever_connected_ ? kAttemptsBeforeEngine : 1);
  return away ? 0 : AnswerWatch::kNever;
}

void IoThread::give_to_engine(std::uint64_t now) {
  if (waiting_.empty() || now < takeover_ns()) return;
  engine_ = context_.engine();
  if (engine_ == nullptr) return;
  const std::lock_guard lock(context_.mutex);
  for (const std::uint64_t job : waiting_) engine_->add(job);
  waiting_.clear();
}

void IoThread::send_requests(std::uint64_t now) {
  if (!connection_) return;
  if (welcomed_) {
    send_notes();
    while (!waiting_.empty() && now >= hold_until_ns_ && connection_->outgoing_bytes() < kOutgoingBytesMax) {
      const std::uint64_t job = waiting_.front();
      waiting_.pop_front();
      send_job(job);
    }
    send_observed();
    send_called();
  }
  if (auto sent = connection_->flush(); !sent) lose(sent.error(), now);
}

/// Sends what is no job.
void IoThread::send_notes() {
  const std::lock_guard lock(context_.mutex);
  if ((features_ & wire::kFeatureLoops) != 0)
    for (const wire::LoopSeen& seen : context_.seen) wire::append_loop_seen(connection_->outgoing(), seen);
  context_.seen.clear();
  for (const std::uint64_t job : context_.dropped) wire::append_cancel(connection_->outgoing(), job);
  context_.dropped.clear();
  for (StatsRequest* request : context_.stats_requests) {
    if (!request->sent) wire::append_stats_request(connection_->outgoing(), request->id);
    request->sent = true;
  }
}

/// Sends hints about jobs that the daemon has.
void IoThread::send_observed() {
  const std::lock_guard lock(context_.mutex);
  if (!std::exchange(context_.has_observed, false)) return;
  context_.jobs.for_each([&](Submission& submission) {
    if (submission.observed_told || submission.by_engine) return;
    if (submission.state == JobState::waiting) {
      context_.has_observed = true;  // behind its job
      return;
    }
    submission.observed_told = true;
    if ((features_ & wire::kFeatureObserved) != 0)
      wire::append_observed(connection_->outgoing(), submission.job, submission.observed, submission.observed_misses,
                            features_);
  });
}

/// Tells how much jobs that the daemon has were called, so that it takes them in that order.
void IoThread::send_called() {
  const std::lock_guard lock(context_.mutex);
  if (!std::exchange(context_.has_called, false) || (features_ & wire::kFeatureCalled) == 0) return;
  context_.jobs.for_each([&](Submission& submission) {
    const std::uint64_t called = submission.owner.called();
    if (submission.state != JobState::sent || called <= 2 * submission.called_told) return;
    submission.called_told = called;
    wire::append_called(connection_->outgoing(), submission.job, called);
  });
}

void IoThread::send_job(std::uint64_t job) {
  const Pin submission = context_.pin(job);
  if (!submission) return;
  if ((submission->owner.feature() & ~features_) != 0) return give_to_engine_or_end(job, kOldDaemon);
  bool hopeless = false;
  {
    const std::lock_guard lock(context_.mutex);
    if (submission->state != JobState::waiting) return;
    hopeless = ++submission->sends > kSendsMax;
    if (!hopeless) submission->state = JobState::sent;
    submission->by_engine = false;
    submission->answered = false;
  }
  if (hopeless) return context_.finish(job, Context::End::failed, kLostTooOften);
  linger_.begin();
  allowance_.grant();
  const bool is_accepted_at_once = submission->owner.feature() != 0;
  watch_.sent(job, os::monotonic_ns(), is_accepted_at_once ? AnswerWatch::kAcceptedNs : AnswerWatch::kFirstWordNs);
  submission->owner.append_request(connection_->outgoing(), job, inline_images_);
}

/// Asks the daemon whether it is there.
void IoThread::probe(std::uint64_t now) {
  wire::append_stats_request(connection_->outgoing(), kProbe);
  watch_.probed(now);
  if (auto sent = connection_->flush(); !sent) lose(sent.error(), now);
}

/// The next moment at which something is to be done without being called. Needs the context's mutex.
std::uint64_t IoThread::wake_ns(std::uint64_t now) const {
  std::uint64_t until = AnswerWatch::kNever;
  const auto at = [&](std::uint64_t ns) { until = std::min(until, ns); };
  at(context_.look_ns);
  if (deadline_ns_ != 0) at(deadline_ns_);
  if (!waiting_.empty() && takeover_ns() > now) at(takeover_ns());
  if (welcomed_) {
    if (!waiting_.empty() && hold_until_ns_ > now) at(hold_until_ns_);
    if (allowance_.pause_until_ns() > now) at(allowance_.pause_until_ns());
    if (context_.unfinished != 0) at(std::min(watch_.look_ns(), watch_.overdue_ns()));
  } else if (!connection_ && wants_daemon()) {
    at(next_attempt_ns_);
  }
  return until;
}

/// True when the socket has something to read.
bool IoThread::sleep() {
  if (woken_) {  // nobody writes to the eventfd while io_sleeping is false, so this swallows no later wake
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = ::read(context_.wake_fd(), &count, sizeof(count));
    woken_ = false;
  }
  const bool reads = connection_ && allowance_.pause_until_ns() <= os::monotonic_ns();
  if (reads && linger_.goes_on()) {
    pollfd polled{connection_->fd(), POLLIN, 0};
    if (::poll(&polled, 1, 0) != 1) return false;
    linger_.begin();
    return true;
  }
  int timeout = -1;
  {
    const std::lock_guard lock(context_.mutex);
    if (context_.stopping || rescan_ || !context_.fresh.empty()) return false;
    if (context_.io_called) return false;
    const std::uint64_t now = os::monotonic_ns(), until = wake_ns(now);
    if (until != AnswerWatch::kNever) timeout = until <= now ? 0 : static_cast<int>((until - now) / kMs) + 1;
    if (connection_ && welcomed_) {
      const auto unsent = [](const StatsRequest* request) { return !request->sent; };
      if (std::any_of(context_.stats_requests.begin(), context_.stats_requests.end(), unsent)) return false;
    }
    context_.io_sleeping = true;
  }
  std::array<pollfd, 2> polled{};
  polled[0] = {context_.wake_fd(), POLLIN, 0};
  polled[1] = {-1, 0, 0};
  if (reads) {
    const bool writing = connection_->outgoing_bytes() > 0;
    polled[1] = {connection_->fd(), static_cast<short>(writing ? POLLIN | POLLOUT : POLLIN), 0};
  }
  ::poll(polled.data(), polled.size(), timeout);
  woken_ = (polled[0].revents & POLLIN) != 0;
  return (polled[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
}

void IoThread::receive() {
  const std::uint64_t now = os::monotonic_ns();
  std::vector<Arrival> arrivals;
  const std::uint64_t bytes_before = connection_->received_bytes();
  auto received = connection_->receive(arrivals);
  const std::uint64_t bytes = connection_->received_bytes() - bytes_before;
  if (bytes != 0) watch_.heard(now);
  allowance_.take(arrivals.size(), static_cast<std::size_t>(bytes), now);
  if (allowance_.is_flood(now)) return give_up_daemon("it floods this client with unrequested messages", now);
  for (Arrival& arrival : arrivals) {
    std::visit([&](auto& message) { on(message, std::move(arrival.image)); }, arrival.message);
    if (broken_) return lose(Error(*broken_), now);
  }
  if (!received) return lose(received.error(), now);
  if (welcomed_) {
    if (!connection_->has_partial_frame()) {
      deadline_ns_ = 0;
    } else if (deadline_ns_ == 0) {
      deadline_ns_ = now + kFrameMs * kMs;
    }
  }
}

void IoThread::check_deadlines() {
  if (!connection_) return;
  const std::uint64_t now = os::monotonic_ns();
  if (deadline_ns_ != 0 && now >= deadline_ns_) {
    return give_up_daemon(
        welcomed_ ? "it does not finish a message that it started" : "it accepted the connection but sent no welcome",
        now);
  }
  if (welcomed_) check_answers(now);
}

void IoThread::check_answers(std::uint64_t now) {
  std::uint64_t overdue = 0;
  {
    const std::lock_guard lock(context_.mutex);
    idle_ = context_.unfinished == 0;
    overdue = watch_.take_overdue(now, [&](std::uint64_t job) {
      const Submission* submission = context_.jobs.find(job);
      return submission == nullptr || submission->state != JobState::sent || submission->answered;
    });
  }
  if (overdue != 0) give_up_job(overdue);
  if (idle_) return;
  if (watch_.is_silent(now)) return give_up_daemon("it does not answer any more", now);
  if (watch_.wants_probe(now)) probe(now);
}

/// The daemon has lost the job: it is the engine's now, or the interpreter's.
void IoThread::give_up_job(std::uint64_t job) {
  {
    const std::lock_guard lock(context_.mutex);
    context_.dropped.push_back(job);
    Submission* submission = context_.jobs.find(job);
    if (submission == nullptr || submission->state != JobState::sent) return;
    submission->state = JobState::waiting;
  }
  give_to_engine_or_end(job, kNoAnswer);
}

/// A waiting job that this daemon will not do is the engine's in mode auto; else it ends.
void IoThread::give_to_engine_or_end(std::uint64_t job, std::string_view why) {
  if (context_.settings().mode == TRIDENT_MODE_AUTO) engine_ = context_.engine();
  if (engine_ == nullptr) return context_.finish(job, Context::End::failed, why);
  const std::lock_guard lock(context_.mutex);
  engine_->add(job);
}

}  // namespace trident::client
