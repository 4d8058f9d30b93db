// The terms that one rule at one place leads to: for a search that takes one step at a time and has each looked at
// before the next.
#pragma once

#include <vector>

#include "jit/egraph/search.h"
#include "jit/egraph/term.h"

namespace trident::egraph {

/// Each instance of a rule's left side in `initial` replaced by its right side, wherever the instance is used; in the
/// order of the term's nodes, equal ones once. Tactics take no part. At most `steps_max` steps of matching.
std::vector<Term> neighbours(const SearchSpace& space, const Term& initial, std::uint64_t steps_max = 1'000'000);

}  // namespace trident::egraph
