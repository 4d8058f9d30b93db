// The network's proposals for a block. They are not proven (jit/tir/equiv does that), but each ends as the block does,
// as far as AbstractState can tell, and has fewer words or fewer cycles.
#pragma once

#include <span>
#include <vector>

#include "jit/tir/neural/decode.h"

namespace trident::tir::neural {

/// Counts of ended drafts, for whole blocks or for windows.
struct ProposeCounts {
  DecodeCounts decoded;
  std::size_t not_smaller = 0;  ///< ended, but not smaller
  std::size_t repeated = 0;
  std::size_t beyond = 0;  ///< beyond the number of proposals
  std::size_t merged = 0;  ///< forms of windows joined into one proposal
};

struct ProposeOptions {
  std::size_t width = 16;     ///< width of the beam
  std::size_t proposals = 4;  ///< most proposals
  /// Length of a window. A longer block is read in windows of so many instructions, each half over the one before; a
  /// form found for one is in place when the next is read.
  std::size_t window = 20;
  /// Stops the decoding as DecodeOptions::stop; true ends with the forms found so far.
  std::function<bool()> stop{};
  ProposeCounts* counts = nullptr;  ///< added to, if not null
};

/// Returns forms, the fewest words first, then the fewest instructions, then the likeliest. Empty if `block` is none.
std::vector<std::vector<Instruction>> propose(Network& network, std::span<const Instruction> block,
                                              const ProposeOptions& options = {});

}  // namespace trident::tir::neural
