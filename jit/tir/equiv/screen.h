// Candidates that are not the same as a baseline, found out fast: both run in many states at once (lanes.h).
//
// A candidate that does not survive is not the same, and witness() is a state that shows it; one that survives may be.
// Most are found out by the first eight states, so a screen has few of them and is made once per baseline.
#pragma once

#include <optional>

#include "jit/tir/equiv/lanes.h"

namespace trident::tir::equiv {

class Screen {
 public:
  /// Looks at the baseline's instructions only here. All blocks have arguments in range.
  Screen(Block baseline, std::uint64_t seed, std::size_t stack_min = 16);

  /// Blocks with control flow always survive.
  bool survives(Block candidate);
  /// Of the last candidate, if it did not survive.
  [[nodiscard]] State witness() const { return batches_[batch_].lanes.state(lane_, size_); }

 private:
  struct Batch {
    Lanes lanes;
    LaneEnd baseline;
  };
  bool fails(std::size_t batch, LaneMask lanes, std::size_t size);
  bool fails_by_shape(const Shape& shape);
  [[nodiscard]] std::size_t depth(const Shape& shape) const { return std::max(shape.size_min, stack_min_); }

  std::size_t stack_min_;
  Shape baseline_;
  std::vector<Batch> batches_;
  LaneEnd end_;
  std::size_t batch_ = 0, lane_ = 0, size_ = 0;
  std::optional<std::size_t> alive_;  ///< a batch where the baseline ends without failure
};

}  // namespace trident::tir::equiv
