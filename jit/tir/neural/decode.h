// Decodes blocks from the network: the most likely token each time, or a beam of drafts.
//
// The logarithm of a token's share among the legal ones is computed in fixed point like everything else, so that the
// order of a beam is the same on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "jit/tir/neural/network.h"

namespace trident::tir::neural {

/// Counts of examined drafts, each a kept draft and one more token, and of the ends of drafts.
struct DecodeCounts {
  std::size_t looked_at = 0;
  // Filters, in their order.
  std::size_t lost = 0;      ///< cannot reach the original's end, as far as AbstractState can tell
  std::size_t repeated = 0;  ///< are at the same point as a better one
  std::size_t too_long = 0;
  // Drafts that the network would have ended.
  std::size_t ended = 0;
  std::size_t ends_refused = 0;  ///< the end was the likeliest token, but does not reach the original's end
};

struct DecodeOptions {
  std::size_t width = 1;  ///< drafts kept; 1: greedy
  std::size_t tokens_max = kDraftTokensMax;
  std::size_t tokens_min = 0;  ///< least length before an end; for measuring
  /// Ends drafts only where AbstractState sees no difference from the original: most other ends are wrong.
  /// Drafts that cannot get there are dropped, and among drafts at the same point all but the best.
  bool end_when_reached = false;
  /// Most words of a draft.
  std::uint32_t words_max = UINT32_MAX;
  /// Called before each token, some milliseconds apart: true ends the decoding with the drafts that have ended.
  std::function<bool()> stop{};
  DecodeCounts* counts = nullptr;  ///< added to, if not null
};

/// A draft that has ended.
struct Candidate {
  std::vector<Instruction> block;
  std::int64_t score = 0;  ///< sum of the tokens' logarithms, in units of 2^-16
  bool reached = false;    ///< as far as AbstractState can tell
};

/// Returns the best first; none if no draft ended in time. The greedy draft is never dropped from a beam, so the best
/// score is at least its score. Among equal scores the draft whose tokens come first wins.
std::vector<Candidate> decode(Network& network, const Original& original, const DecodeOptions& options);

/// Decodes many blocks greedily side by side, with the same result as one by one. Not all drafts have ended.
std::vector<Draft> decode_greedily(Network& network, std::span<const Original> originals, const DecodeOptions& options);

/// Returns ln(x / 2^24) in units of 2^-16, x > 0; within 2 units.
std::int64_t log_of(std::uint64_t x);

}  // namespace trident::tir::neural
