// Tasks of a check on two threads: the check's own, and one that lives as long as the tasks take, where a processor may
// be idle. No child is made meanwhile. The second thread's time counts as work of the first.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <thread>

namespace trident::pipeline {

class TwoThreads {
 public:
  /// `cancelled` is asked on this thread alone; empty: nobody cancels.
  explicit TwoThreads(std::function<bool()> cancelled) : own_(std::this_thread::get_id()), ask_(std::move(cancelled)) {}

  /// The thread that calls is the check's own from now on.
  void resume() { own_ = std::this_thread::get_id(); }

  /// Does all tasks and returns when they have ended: equiv::CheckOptions::together.
  void run(std::span<const std::function<void()>> tasks);

  /// Does `own` on this thread, and `other` meanwhile on another one.
  void run_beside(const std::function<void()>& own, const std::function<void()>& other);

  /// Returns what this thread was told last: for tasks, on whatever thread they are done.
  [[nodiscard]] bool cancelled();

 private:
  std::thread::id own_;
  std::function<bool()> ask_;
  std::atomic<bool> told_ = false;
};

}  // namespace trident::pipeline
