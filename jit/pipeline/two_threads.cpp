#include "jit/pipeline/two_threads.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>

#include "runtime/os/sandbox.h"

namespace trident::pipeline {
namespace {

/// The time between two questions whether to end, while the other thread is not ready.
constexpr std::chrono::milliseconds kAskEvery{5};

/// A thread that does its work once, and what that took.
class Second {
 public:
  explicit Second(const std::function<void()>& work) {
    try {
      thread_ = std::thread([this, &work] { run(work); });
    } catch (const std::system_error&) {
      done_ = true;
    }
  }
  ~Second() {
    if (thread_.joinable()) thread_.join();
    os::add_thread_work(work_ns_);
  }
  Second(const Second&) = delete;
  Second& operator=(const Second&) = delete;

  /// False: there are too many threads, and the first does everything.
  [[nodiscard]] bool began() const { return thread_.joinable(); }

  [[nodiscard]] bool done_soon() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kAskEvery, [this] { return done_; });
  }

 private:
  void run(const std::function<void()>& work) {
    work();
    const std::lock_guard lock(mutex_);
    work_ns_ = os::thread_work_ns();
    done_ = true;
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::uint64_t work_ns_ = 0;
  std::thread thread_;
};

}  // namespace

void TwoThreads::run(std::span<const std::function<void()>> tasks) {
  (void)cancelled();
  std::atomic<std::size_t> next = 0;
  const std::function<void()> work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) tasks[i]();
  };
  if (tasks.size() < 2) return work();
  Second second(work);
  work();
  while (!second.done_soon()) (void)cancelled();
}

void TwoThreads::run_beside(const std::function<void()>& own, const std::function<void()>& other) {
  (void)cancelled();
  Second second(other);
  if (!second.began()) other();
  own();
  while (!second.done_soon()) (void)cancelled();
}

bool TwoThreads::cancelled() {
  if (std::this_thread::get_id() != own_) return told_.load();
  const bool now = ask_ && ask_();
  told_.store(now);
  return now;
}

}  // namespace trident::pipeline
