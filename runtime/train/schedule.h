// Learning rates by step, and folds of samples by group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trident::train {

/// Linear warm-up to `peak`, then half a cosine down to `last` at `steps`; `last` after that.
struct Schedule {
  double peak = 1e-3, last = 0;
  std::uint64_t warmup_steps = 0, steps = 0;  ///< steps 0: `peak` for ever
  [[nodiscard]] double rate(std::uint64_t step) const;
};

/// The fold in [0, folds) of each sample. Samples of one group share a fold; groups are shuffled by `seed` and each
/// goes to the fold with the fewest samples so far, the largest groups first.
std::vector<std::uint32_t> folds_by_group(std::span<const std::uint32_t> group_of_sample, std::uint32_t folds,
                                          std::uint64_t seed);

/// 0 .. count - 1 in an order that `seed` and `epoch` alone decide; written into `order` (count = its size).
void shuffle(std::span<std::uint32_t> order, std::uint64_t seed, std::uint64_t epoch);

}  // namespace trident::train
