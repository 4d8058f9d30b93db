// Lists features one by one: for a term, for the incumbent extraction, and for the latter after a rewrite.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/nnue/afterstate.h"

namespace trident::nnue {

struct FeatureList {
  std::vector<std::uint32_t> list;  ///< each as often as the term has it
  std::uint32_t nodes = 0;          ///< nodes that a root needs
};

/// Lists a term's features outside any graph, as an incumbent that extracts it has them. `depth` is 1 to kDepthMax.
FeatureList features_of(const egraph::Term& term, std::span<const egraph::OpRow> ops, const KindTable& kinds,
                        unsigned depth = kDefaultDepth);
/// Lists an incumbent's features, ascending. `roots`: its own. `after`: a rewrite to assume; null: none.
FeatureList features_of(const Incumbent& incumbent, std::span<const ClassId> roots, const Afterstate* after = nullptr);

}  // namespace trident::nnue
