// The features of a term outside any graph, as jit/nnue's Incumbent would count them: for those who train, and need
// them as a list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/egraph/term.h"
#include "jit/nnue/features.h"

namespace trident::learn {

struct TermFeatures {
  std::vector<std::uint32_t> list;  ///< as often as the term has them
  std::uint32_t nodes = 0;          ///< that a root needs
};

/// `depth` is 1 to nnue::kDepthMax.
TermFeatures features_of(const egraph::Term& term, std::span<const egraph::OpRow> ops, const nnue::KindTable& kinds,
                         unsigned depth = nnue::kDefaultDepth);

}  // namespace trident::learn
