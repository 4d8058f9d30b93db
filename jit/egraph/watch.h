// Budgets as the parts of a search see them: work is counted in steps, the clock is looked at once in so many, and
// whoever works in a loop spends steps and stops once it is late. Time that nobody spends is time overrun, so a loop
// whose length the input decides has no right to run without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace trident::egraph {

class Watch {
 public:
  /// A step is what takes some ten nanoseconds: a node visited, a term copied. 60 us between two looks.
  static constexpr std::uint64_t kStepsPerLook = 6'000;

  /// `late` is asked once in kStepsPerLook steps, and not again once it has said so. Empty: it is never late.
  explicit Watch(std::function<bool()> late = {}, std::size_t bytes_max = static_cast<std::size_t>(-1))
      : ask_(std::move(late)), bytes_max_(bytes_max) {}

  /// Counts work that is about to be done; true when it is late, and the work should be left.
  bool spend(std::uint64_t steps = 1) {
    if (steps < left_) [[likely]] {
      left_ -= steps;
      return late_;
    }
    return look();
  }
  /// Asks now.
  bool look() {
    left_ = kStepsPerLook;
    late_ = late_ || (ask_ && ask_());
    return late_;
  }
  /// What the last look said.
  [[nodiscard]] bool late() const { return late_; }

  /// Memory that is about to be taken besides the graph's, as far as it may grow with the input; false, and nothing
  /// counted, when the budget has no room for it.
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
