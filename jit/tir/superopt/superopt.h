// Shorter straight-line blocks: the specification of a block, or of windows of a long one, searched for cheaper
// instructions under several measures. What comes of it is a list of proposals for jit/tir/equiv and for the
// whole program's heights to decide on.
#pragma once

#include <span>
#include <vector>

#include "jit/tir/superopt/search.h"

namespace trident::tir::superopt {

struct Options {
  /// Each gives a proposal, if it finds one.
  std::vector<Weights> measures = {{1, 0.1, 0.01}, {0.1, 1, 0.01}, {0.3, 0.3, 1}};
  std::size_t width = 160;
  std::size_t window = 20;  ///< instructions searched at once in a block that is longer
  /// Asked every few milliseconds: true ends the search with the proposals that were found.
  std::function<bool()> stop{};
};

/// Different blocks, each cheaper than the given one by one of the measures, the fewest words first; not proven.
std::vector<std::vector<Instruction>> propose(std::span<const Instruction> block, const Options& options = {});

}  // namespace trident::tir::superopt
