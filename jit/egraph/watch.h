// Budgets as the parts of a search see them. Work is counted in steps, and the clock is read once every kStepsPerLook.
// A loop spends steps and stops when the time is up. A loop whose length the input decides must not run without a
// watch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace trident::egraph {

class Watch {
 public:
  /// A step takes some ten nanoseconds: a node visited, a term copied. 60 us between two looks.
  static constexpr std::uint64_t kStepsPerLook = 6'000;

  /// Asks `late` once in kStepsPerLook steps, and not again once it was true. Empty: it is never late.
  explicit Watch(std::function<bool()> late = {}, std::size_t bytes_max = static_cast<std::size_t>(-1))
      : ask_(std::move(late)), bytes_max_(bytes_max) {}

  /// Counts work that is about to be done; returns true when the time is up, and the work should be left.
  bool spend(std::uint64_t steps = 1) {
    if (steps < left_) [[likely]] {
      left_ -= steps;
      return late_;
    }
    return look();
  }
  /// Looks at the clock now.
  bool look() {
    left_ = kStepsPerLook;
    late_ = late_ || (ask_ && ask_());
    return late_;
  }
  /// Returns the answer of the last look.
  [[nodiscard]] bool late() const { return late_; }

  /// Reserves memory besides the graph's, as far as it may grow with the input. Returns false, and counts nothing, when
  /// the budget has no room for it.
  bool hold(std::size_t bytes) {
    if (bytes > bytes_max_ - held_) return false;
    held_ += bytes;
    held_max_ = held_ > held_max_ ? held_ : held_max_;
    return true;
  }
  void release(std::size_t bytes) { held_ -= bytes; }
  [[nodiscard]] std::size_t held() const { return held_; }
  [[nodiscard]] std::size_t held_max() const { return held_max_; }

 private:
  std::function<bool()> ask_;
  std::uint64_t left_ = kStepsPerLook;
  std::size_t bytes_max_, held_ = 0, held_max_ = 0;
  bool late_ = false;
};

}  // namespace trident::egraph
