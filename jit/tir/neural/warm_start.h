// Trains weights with supervision on pairs of a block and a better one, such as a superoptimiser's answers: Adam on the
// twin in single precision, then rounded to fixed point. Equal pairs and options give equal weights with
// any number of threads.
#pragma once

#include <functional>

#include "jit/tir/neural/training_twin.h"

namespace trident::tir::neural {

struct WarmStartOptions {
  std::uint64_t seed = 1;
  std::uint64_t steps = 1000;
  std::size_t lessons_per_step = 32;                                ///< a multiple of kWarmStartShards
  std::size_t nodes_max = kNodesMax, tokens_max = kDraftTokensMax;  ///< larger pairs are left out
  double rate = 2e-3;  ///< peak rate of Adam; falls to a twentieth by half a cosine
  unsigned threads = 1;
};
/// Number of tapes whose gradients are added, whatever the number of threads; part of the result.
inline constexpr std::size_t kWarmStartShards = 2;

struct WarmStart {
  Weights weights;
  std::size_t used = 0, left_out = 0;  ///< pairs
  double loss = 0;                     ///< mean of the last tenth of the steps, nats a token
};

/// Trains weights, beginning from `from`. `progress` may be empty; returning false ends the training early. It gets
/// the mean loss since its last call. Errors: InvalidArgument if no pair fits, or when the loss
/// stops being finite.
Result<WarmStart> warm_start(std::span<const Pair> pairs, std::span<const std::int32_t> from,
                             const WarmStartOptions& options,
                             const std::function<bool(std::uint64_t step, double loss)>& progress = {});

}  // namespace trident::tir::neural
