// Features one by one: of a term, of the incumbent extraction, and of what it would be after a rewrite.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/nnue/afterstate.h"

namespace trident::nnue {

struct FeatureList {
  std::vector<std::uint32_t> list;  ///< as often as the term has them
  std::uint32_t nodes = 0;          ///< that a root needs
};

/// Of a term outside any graph, as an incumbent that extracts it has them. `depth` is 1 to kDepthMax.
FeatureList features_of(const egraph::Term& term, std::span<const egraph::OpRow> ops, const KindTable& kinds,
                        unsigned depth = kDefaultDepth);
/// `roots`: those of the incumbent. Null `after`: as it is. The list is ascending.
FeatureList features_of(const Incumbent& incumbent, std::span<const ClassId> roots, const Afterstate* after = nullptr);

}  // namespace trident::nnue
