// The features of the incumbent extraction, and of what it would be after a rewrite, one by one: for those who train,
// and have no weights yet to sum.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/nnue/afterstate.h"

namespace trident::nnue {

struct FeatureList {
  std::vector<std::uint32_t> list;  ///< ascending, as often as the term has them
  std::uint32_t nodes = 0;          ///< that a root needs
};

/// `roots`: those of the incumbent. Null `after`: as it is.
FeatureList features_of(const Incumbent& incumbent, std::span<const ClassId> roots, const Afterstate* after = nullptr);

}  // namespace trident::nnue
