// How much a piece of work may take: CPU time, a deadline, a number of steps, and a flag by which its owner cancels it.
// CPU time is that of the thread that does the work and of the sandboxed children that it waits for, so that a loaded
// machine takes longer over the same work instead of doing less; the deadline stands behind it against hangs.
//
// Steps are counted by the work itself, so that a run bounded by steps alone is deterministic; the clock is read only
// every kStepsPerLook steps.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/os/clock.h"
#include "runtime/os/sandbox.h"

namespace trident::sched {

struct BudgetLimits {
  std::uint64_t deadline_ns = 0;  ///< monotonic; 0: none
  std::uint64_t cpu_ns = 0;       ///< from the budget's making on, which is in the thread that works; 0: unbounded
  std::uint64_t steps_max = 0;    ///< 0: unbounded
};

class Budget {
 public:
  explicit Budget(const BudgetLimits& limits = {}, const std::atomic<bool>* cancelled = nullptr)
      : limits_(limits), cancelled_(cancelled), start_ns_(limits.cpu_ns != 0 ? os::thread_work_ns() : 0) {}

  /// Takes `steps`; false when the budget is spent, and from then on.
  bool spend(std::uint64_t steps = 1) {
    steps_ += steps;
    if (spent_) return false;
    if (limits_.steps_max != 0 && steps_ > limits_.steps_max) spent_ = true;
    if (steps_ >= next_look_) look();
    return !spent_;
  }
  [[nodiscard]] bool spent() {
    look();
    return spent_;
  }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

  static constexpr std::uint64_t kStepsPerLook = 256;

 private:
  void look() {
    next_look_ = steps_ + kStepsPerLook;
    if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) spent_ = true;
    if (limits_.cpu_ns != 0 && os::thread_work_ns() - start_ns_ >= limits_.cpu_ns) spent_ = true;
    if (limits_.deadline_ns != 0 && os::monotonic_ns() >= limits_.deadline_ns) spent_ = true;
  }

  BudgetLimits limits_;
  const std::atomic<bool>* cancelled_;
  std::uint64_t start_ns_;  ///< of os::thread_work_ns()
  std::uint64_t steps_ = 0, next_look_ = kStepsPerLook;
  bool spent_ = false;
};

}  // namespace trident::sched
