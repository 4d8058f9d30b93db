// Other forms of a block that the network has in mind: nothing that it says is proven (jit/tir/equiv does that), but
// what is here ends, as far as AbstractState can tell, as the block does, and has fewer words or fewer cycles.
#pragma once

#include <span>
#include <vector>

#include "jit/tir/neural/decode.h"

namespace trident::tir::neural {

/// What became of drafts that ended, of whole blocks or of windows.
struct ProposeCounts {
  DecodeCounts decoded;
  std::size_t not_smaller = 0;  ///< of those that ended
  std::size_t repeated = 0;
  std::size_t beyond = 0;  ///< the number of proposals
  std::size_t merged = 0;  ///< forms of windows that are in no proposal of their own
};

struct ProposeOptions {
  std::size_t width = 16;     ///< of the beam
  std::size_t proposals = 4;  ///< at most
  /// A block that is longer is read in windows of this many instructions, each half over the one before; what is found
  /// for one is in place when the next is read.
  std::size_t window = 20;
  /// As of DecodeOptions: true ends with what was found.
  std::function<bool()> stop{};
  ProposeCounts* counts = nullptr;  ///< added to, if given
};

/// The fewest words first, then the fewest instructions, then the likeliest. Empty for what is no block.
std::vector<std::vector<Instruction>> propose(Network& network, std::span<const Instruction> block,
                                              const ProposeOptions& options = {});

}  // namespace trident::tir::neural
