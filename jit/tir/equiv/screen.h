// Refutes candidates quickly: candidate and baseline run in many states at once (lanes.h).
//
// A candidate that does not survive is not the same, and witness() returns a state that shows it; others may be the
// same. The first eight states refute most of them, so a screen has few and is made once per baseline.
#pragma once

#include <optional>

#include "jit/tir/equiv/lanes.h"

namespace trident::tir::equiv {

class Screen {
 public:
  /// Reads the baseline's instructions only here. All blocks have arguments in range.
  Screen(Block baseline, std::uint64_t seed, std::size_t stack_min = 16);

  /// Blocks with control flow always survive.
  bool survives(Block candidate);
  /// Returns the state that refuted the last candidate, if it did not survive.
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
