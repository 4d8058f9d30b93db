// The terms that one rule at one place leads to: for a search that takes one step at a time and checks each result
// before the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/egraph/search.h"
#include "jit/egraph/term.h"

namespace trident::egraph {

/// Replaces each instance of a rule's left side in `initial` by its right side, wherever the instance is used. Terms
/// come in the order of the term's nodes, equal ones once. Uses no tactics. At most `steps_max` steps of matching.
std::vector<Term> neighbours(const SearchSpace& space, const Term& initial, std::uint64_t steps_max = 1'000'000);

/// An instance of a rule's left side in a term, by nodes of the term.
struct Place {
  RuleIndex rule = 0;
  std::uint32_t root = 0;
  std::vector<std::uint32_t> variables;
};

/// Returns, for each place, the term with the right side there; one without roots where that is not possible.
std::vector<Term> rewritten_at(const SearchSpace& space, const Term& initial, std::span<const Place> places);

}  // namespace trident::egraph
