// Shortens straight-line blocks: specifies a block, or windows of a long one, and searches for cheaper
// instructions under several measures. The result is a list of proposals; jit/tir/equiv and the
// whole program's heights decide on them.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "jit/tir/superopt/search.h"
#include "jit/tir/superopt/shipped_weights.h"

namespace trident::tir::superopt {

/// Measures: mostly words, mostly cycles, mostly rows of the op-stack table.
inline constexpr std::array<Weights, 3> kMeasures = {Weights{1, 0.1, 0.01}, Weights{0.1, 1, 0.01},
                                                     Weights{0.3, 0.3, 1}};

struct Options {
  /// Measures; each gives at most one proposal.
  std::vector<Weights> measures{kMeasures.begin(), kMeasures.end()};
  std::size_t width = 160;
  std::size_t window = 20;  ///< instructions searched at once in a longer block
  /// Orders the states of the search together with the heuristic; null: the heuristic alone. Must outlive the search.
  const nn::AccumulatorWeights* network = &shipped_ordering();
  /// Called every few milliseconds: true ends the search with the proposals found so far.
  std::function<bool()> stop{};
};

/// Returns different blocks, each cheaper by one of the measures, the fewest words first; not proven.
std::vector<std::vector<Instruction>> propose(std::span<const Instruction> block, const Options& options = {});

}  // namespace trident::tir::superopt
