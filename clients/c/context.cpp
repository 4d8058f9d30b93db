#include "clients/c/context.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "clients/c/engine_thread.h"
#include "clients/c/io_thread.h"

namespace trident::client {
namespace {

/// Closed kernels that the daemon hears of only when something else is sent; more of them wake the I/O thread.
constexpr std::size_t kDroppedMax = 64;

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
  if (kernel_ != nullptr) kernel_->context.unpin(kernel_);
}

Context::Context(Settings settings) : settings_(std::move(settings)) {
  counters.struct_size = sizeof(counters);
  register_for_fork(this);
}

Context::~Context() = default;

Result<void> Context::start() {
  if (!can_compile()) return {};
  if (settings_.mode == TRIDENT_MODE_EMBEDDED) {
    TRY(engine_, EngineThread::start(*this));
    return {};
  }
  if (settings_.mode != TRIDENT_MODE_DAEMON) return {};
  std::unique_lock lock(mutex);
  if (!ensure_threads()) return make_error(ErrorCode::kOsError, "no thread can be started");
  connect_wanted = true;
  wake_io(lock);
  lock.lock();
  const bool reached = changed.wait_until(lock, after(settings_.connect_timeout_ms), [&] { return connected; });
  connect_wanted = false;
  if (reached) return {};
  return make_error(ErrorCode::kDisconnected, "no daemon: %s",
                    last_failure.empty() ? "it does not answer" : last_failure.c_str());
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
    jobs.for_each([](Kernel& kernel) { kernel.state = JobState::finished; });
    changed.notify_all();
  }
  io_.reset();
  engine_.reset();
  if (wake_fd_ >= 0) ::close(wake_fd_);
  wake_fd_ = -1;
  release();
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

bool Context::can_compile() const {
  return settings_.mode != TRIDENT_MODE_INTERP && !exec_denied_ && greatest_isa() != 0;
}

/// Needs the mutex. Starts what this context's mode needs and what does not run yet (also in a forked child).
bool Context::ensure_threads() try {
  if (settings_.mode == TRIDENT_MODE_EMBEDDED) {
    if (engine_) return true;
    auto engine = EngineThread::start(*this);
    if (!engine) return false;
    engine_ = std::move(engine).value();
    for (const std::uint64_t job : fresh) engine_->add(job);
    fresh.clear();
    return true;
  }
  if (io_) return true;
  if (wake_fd_ < 0) wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) return false;
  auto io = std::make_unique<IoThread>(*this);
  if (!io->start()) return false;
  io_ = std::move(io);
  return true;
} catch (const std::bad_alloc&) {
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

void Context::add(std::unique_ptr<Kernel> kernel) {
  std::unique_lock lock(mutex);
  make_room(fresh);
  kernel->job = jobs.add(kernel.get());
  Kernel* added = kernel.release();
  ++references_;
  ++counters.submitted;
  if (!can_compile() || stopping) {
    added->state = JobState::finished;
    return;
  }
  const std::uint64_t job = added->job;
  fresh.push_back(job);
  if (!ensure_threads()) return;  // the next submission tries again; the interpreter answers meanwhile
  if (settings_.mode == TRIDENT_MODE_EMBEDDED) {
    fresh.pop_back();
    engine_->add(job);
    return;
  }
  wake_io(lock);
}

void Context::remove(Kernel* kernel) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !kernel->in_callback || pthread_equal(kernel->callback_thread, pthread_self()); });
  jobs.erase(kernel->job);
  kernel->closing = true;
  const bool pinned = kernel->pins != 0;
  if (pinned) kernel->next_closing = std::exchange(closing, kernel);
  const bool daemon_works = kernel->state == JobState::sent;
  if (connected && kernel->sends != 0) {
    try {
      dropped.push_back(kernel->job);
    } catch (const std::bad_alloc&) {  // the daemon forgets it when the connection ends
    }
  }
  if (daemon_works || dropped.size() >= kDroppedMax) {
    wake_io(lock);
  } else {
    lock.unlock();
  }
  if (pinned) return;  // unpin() frees it
  delete kernel;
  release();
}

Result<void> Context::wait(Kernel& kernel, std::uint32_t tier, std::uint32_t timeout_ms) {
  if (tier == TRIDENT_TIER_INTERPRETER) {
    TRY([[maybe_unused]] const auto lowered, kernel.lower());
    return {};
  }
  std::unique_lock lock(mutex);
  if (kernel.state == JobState::waiting && ensure_threads() && settings_.mode != TRIDENT_MODE_EMBEDDED) {
    wake_io(lock);
    lock.lock();
  }
  const auto reached = [&] { return kernel.tier >= tier || kernel.state == JobState::finished; };
  if (changed.wait_until(lock, after(timeout_ms), reached)) return {};
  const bool alone = !connected && !last_failure.empty();
  return make_error(ErrorCode::kTimeout, "tier %u was not reached in %u ms%s%s%s%s", tier, timeout_ms,
                    alone ? "; no daemon: " : "", alone ? last_failure.c_str() : "",
                    engine_failure.empty() ? "" : "; no engine: ", engine_failure.c_str());
}

void Context::set_callback(Kernel& kernel, void (*callback)(trident_kernel*, void*), void* user) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !kernel.in_callback || pthread_equal(kernel.callback_thread, pthread_self()); });
  kernel.changed = callback;
  kernel.changed_user = user;
}

Result<std::string> Context::daemon_stats(std::uint32_t timeout_ms) {
  const auto no_daemon = [&] { return make_error(ErrorCode::kDisconnected, "no daemon: %s", last_failure.c_str()); };
  if (settings_.mode == TRIDENT_MODE_INTERP || settings_.mode == TRIDENT_MODE_EMBEDDED) return no_daemon();
  StatsRequest request;
  std::unique_lock lock(mutex);
  if (stopping || !ensure_threads()) return no_daemon();
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

trident_stats Context::stats() {
  const std::lock_guard lock(mutex);
  trident_stats copy = counters;
  copy.connected = connected ? 1 : 0;
  return copy;
}

Pin Context::pin(std::uint64_t job) {
  const std::lock_guard lock(mutex);
  Kernel* kernel = jobs.find(job);
  if (kernel == nullptr) return {};
  ++kernel->pins;
  return Pin(kernel);
}

void Context::unpin(Kernel* kernel) {
  {
    const std::lock_guard lock(mutex);
    if (--kernel->pins != 0 || !kernel->closing) return;
    Kernel** link = &closing;
    while (*link != kernel) link = &(*link)->next_closing;
    *link = kernel->next_closing;
  }
  delete kernel;
  release();
}

/// Tells of a change. Needs the lock and a pinned kernel, and gives the lock up: whoever is woken finds it free.
void Context::tell_change(Kernel& kernel, std::unique_lock<std::mutex>& lock) {
  if (kernel.in_callback) {
    changed.notify_all();
    changed.wait(lock, [&] { return !kernel.in_callback; });
  }
  if (kernel.changed != nullptr && !kernel.closing) {
    kernel.in_callback = true;
    kernel.callback_thread = pthread_self();
    const auto callback = kernel.changed;
    void* const user = kernel.changed_user;
    lock.unlock();
    callback(&kernel, user);
    lock.lock();
    kernel.in_callback = false;
  }
  lock.unlock();
  changed.notify_all();
}

Result<void> Context::deliver(std::uint64_t job, Delivery delivery) {
  const Pin kernel = pin(job);
  if (!kernel) return {};
  const auto& claim = delivery.claim;
  {
    const std::lock_guard lock(mutex);
    if (!kernel->wants(claim.tier, claim.digest_low, claim.digest_high)) return {};
    const ImageClaim counts = kernel->claim();
    delivery.claim.inputs = counts.inputs;
    delivery.claim.outputs = counts.outputs;
    delivery.claim.params = counts.params;
  }
  auto map = delivery.inline_image ? map_image_bytes(delivery.bytes, claim) : map_image(delivery.file, claim);
  std::unique_lock lock(mutex);
  if (!map) {
    ++counters.rejected_images;
    return map.error();
  }
  if (!kernel->wants(claim.tier, claim.digest_low, claim.digest_high)) return {};
  kernel->publish(std::move(map).value());
  if (delivery.baseline_ns > 0) kernel->baseline_ns = delivery.baseline_ns;
  if (delivery.optimised_ns > 0) kernel->optimised_ns = delivery.optimised_ns;
  ++(claim.tier == TRIDENT_TIER_OPTIMISED ? counters.optimised_received : counters.baseline_received);
  tell_change(*kernel, lock);
  return {};
}

/// For trident_info(); what comes late or makes no sense is dropped.
void Context::note_progress(const wire::Progress& progress) {
  if (progress.stage > TRIDENT_STAGE_JUDGE - 1 || progress.done > progress.total) return;
  if (!(progress.best_ratio >= 0 && progress.best_ratio <= 1)) return;
  const std::lock_guard lock(mutex);
  Kernel* kernel = jobs.find(progress.job);
  if (kernel == nullptr || kernel->state != JobState::sent) return;
  kernel->stage = static_cast<std::uint32_t>(progress.stage) + 1;
  kernel->stage_done = progress.done;
  kernel->stage_total = progress.total;
  kernel->best_ratio = progress.best_ratio;
}

void Context::revoke(std::uint64_t job, std::uint8_t tier) {
  const Pin kernel = pin(job);
  if (!kernel) return;
  std::unique_lock lock(mutex);
  kernel->revoke(tier);
  tell_change(*kernel, lock);
}

void Context::finish(std::uint64_t job, End end) {
  const Pin kernel = pin(job);
  if (!kernel) return;
  std::unique_lock lock(mutex);
  if (kernel->state == JobState::finished) return;
  kernel->state = JobState::finished;
  if (end == End::no_gain) ++counters.no_gain;
  if (end == End::failed) ++counters.errors;
  tell_change(*kernel, lock);
}

void Context::finish_all() {
  std::vector<Pin> ended;
  {
    const std::lock_guard lock(mutex);
    exec_denied_ = true;
    std::size_t count = 0;
    jobs.for_each([&](const Kernel& kernel) { count += kernel.state == JobState::finished ? 0 : 1; });
    const bool room = can_reserve(ended, count);  // without memory the states still end, and who waits is woken
    jobs.for_each([&](Kernel& kernel) {
      if (kernel.state == JobState::finished) return;
      kernel.state = JobState::finished;
      if (!room) return;
      ++kernel.pins;
      ended.emplace_back(&kernel);
    });
    fresh.clear();
    changed.notify_all();
  }
  for (const Pin& kernel : ended) {
    std::unique_lock lock(mutex);
    tell_change(*kernel, lock);
  }
}

}  // namespace trident::client
