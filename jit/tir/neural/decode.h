// Blocks out of the network: the most likely token each time, or a beam of drafts.
//
// The logarithm of a token's share among those that are legal is computed in fixed point like everything else, so the
// order of a beam is the same on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "jit/tir/neural/network.h"

namespace trident::tir::neural {

/// What became of drafts: of those that were looked at, each a kept one and a token more, and of their ends.
struct DecodeCounts {
  std::size_t looked_at = 0;
  // Filters, in their order.
  std::size_t lost = 0;      ///< cannot get where the original ends, as far as AbstractState can tell
  std::size_t repeated = 0;  ///< stand where a better one stands
  std::size_t too_long = 0;
  // Where the network would have ended.
  std::size_t ended = 0;
  std::size_t ends_refused = 0;  ///< the end was the likeliest token, but not where the original ends
};

struct DecodeOptions {
  std::size_t width = 1;  ///< drafts kept; 1: greedy
  std::size_t tokens_max = kDraftTokensMax;
  std::size_t tokens_min = 0;  ///< no end before so many; for measuring
  /// No end but where AbstractState sees no difference from the original: most of what is written elsewise is wrong.
  /// Then drafts that cannot get there are dropped, and of drafts that stand at the same point all but the best.
  bool end_when_reached = false;
  /// No drafts of more words than this.
  std::uint32_t words_max = UINT32_MAX;
  /// Asked before each token, some milliseconds apart: true ends the decoding with the drafts that have ended.
  std::function<bool()> stop{};
  DecodeCounts* counts = nullptr;  ///< added to, if given
};

/// A draft that has ended.
struct Candidate {
  std::vector<Instruction> block;
  std::int64_t score = 0;  ///< sum of the tokens' logarithms, in units of 2^-16
  bool reached = false;    ///< as far as AbstractState can tell
};

/// The best first; none when no draft ended in time. The greedy draft is never dropped from a beam, so that the best
/// score is at least its score. Of equal scores the draft whose tokens come first.
std::vector<Candidate> decode(Network& network, const Original& original, const DecodeOptions& options);

/// The greedy drafts of many blocks side by side, which is what they would be one by one. Not all have ended.
std::vector<Draft> decode_greedily(Network& network, std::span<const Original> originals, const DecodeOptions& options);

/// ln(x / 2^24) in units of 2^-16, x > 0; within 2 units.
std::int64_t log_of(std::uint64_t x);

}  // namespace trident::tir::neural
