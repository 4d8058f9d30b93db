// The end of a budget, or of a part of it: by processor time, and for large expressions by the clock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/os/clock.h"
#include "runtime/os/sandbox.h"

namespace trident::pipeline {

/// Rest of a budget. `least_ns`: processor time before which the clock ends nothing. A busy machine takes longer, but
/// is as careful.
struct Left {
  std::uint64_t work_ns = 0;
  std::uint64_t clock_ns = UINT64_MAX;
  std::uint64_t least_ns = 0;

  /// Returns the processor time that one thread may use.
  [[nodiscard]] std::uint64_t ns() const { return std::min(work_ns, std::max(clock_ns, least_ns)); }
  /// Returns a part of it; an endless clock stays endless.
  [[nodiscard]] Left share(double of_all) const {
    const auto part = [&](std::uint64_t ns) {
      return ns == UINT64_MAX ? ns : static_cast<std::uint64_t>(of_all * static_cast<double>(ns));
    };
    return {part(work_ns), part(clock_ns), part(least_ns)};
  }
  /// Returns all but the last `end_ns`.
  [[nodiscard]] Left without(std::uint64_t end_ns) const {
    const auto less = [&](std::uint64_t ns) { return ns == UINT64_MAX ? ns : ns - std::min(ns, end_ns); };
    return {less(work_ns), less(clock_ns), less(least_ns)};
  }
};

/// A moment of this thread. May be asked often.
class Deadline {
 public:
  /// Never.
  Deadline() = default;
  /// When so much is used from now on.
  explicit Deadline(const Left& left)
      : work_(after(os::thread_work_ns(), left.work_ns)),
        clock_ns_(after(os::monotonic_ns(), left.clock_ns)),
        least_work_(after(os::thread_work_ns(), left.least_ns)) {}

  [[nodiscard]] bool reached() { return work_.reached() || out_of_clock(); }
  [[nodiscard]] bool out_of_clock() { return os::monotonic_ns() >= clock_ns_ && least_work_.reached(); }

  [[nodiscard]] Left left() const {
    const std::uint64_t used_ns = os::thread_work_ns();
    return {rest(work_.end_ns(), used_ns), rest(clock_ns_, os::monotonic_ns()), rest(least_work_.end_ns(), used_ns)};
  }

  /// Returns the later of two, by each clock.
  static Deadline later(const Deadline& a, const Deadline& b) {
    Deadline later;
    later.work_ = os::WorkLimit(std::max(a.work_.end_ns(), b.work_.end_ns()));
    later.clock_ns_ = std::max(a.clock_ns_, b.clock_ns_);
    later.least_work_ = os::WorkLimit(std::max(a.least_work_.end_ns(), b.least_work_.end_ns()));
    return later;
  }

 private:
  static std::uint64_t after(std::uint64_t now_ns, std::uint64_t ns) {
    return ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + ns;
  }
  static std::uint64_t rest(std::uint64_t end_ns, std::uint64_t now_ns) {
    return end_ns == UINT64_MAX ? end_ns : end_ns - std::min(end_ns, now_ns);
  }

  os::WorkLimit work_{UINT64_MAX};
  std::uint64_t clock_ns_ = UINT64_MAX;  ///< of os::monotonic_ns()
  os::WorkLimit least_work_{0};
};

}  // namespace trident::pipeline
