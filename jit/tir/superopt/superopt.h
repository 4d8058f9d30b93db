// Shorter straight-line blocks: the specification of a block, or of windows of a long one, searched for cheaper
// instructions under several measures. What comes of it is a list of proposals for jit/tir/equiv and for the
// whole program's heights to decide on.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "jit/tir/superopt/search.h"
#include "jit/tir/superopt/shipped_weights.h"

namespace trident::tir::superopt {

/// Mostly words, mostly cycles, mostly rows of the op-stack table.
inline constexpr std::array<Weights, 3> kMeasures = {Weights{1, 0.1, 0.01}, Weights{0.1, 1, 0.01},
                                                     Weights{0.3, 0.3, 1}};

struct Options {
  /// Each gives a proposal, if it finds one.
  std::vector<Weights> measures{kMeasures.begin(), kMeasures.end()};
  std::size_t width = 160;
  std::size_t window = 20;  ///< instructions searched at once in a block that is longer
  /// Orders the states of the search together with the heuristic; null: the heuristic alone. Must outlive the search.
  const nn::AccumulatorWeights* network = &shipped_ordering();
  /// Asked every few milliseconds: true ends the search with the proposals that were found.
  std::function<bool()> stop{};
};

/// Different blocks, each cheaper than the given one by one of the measures, the fewest words first; not proven.
std::vector<std::vector<Instruction>> propose(std::span<const Instruction> block, const Options& options = {});

}  // namespace trident::tir::superopt
