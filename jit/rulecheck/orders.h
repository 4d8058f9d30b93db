// Values of variables in a certain order, which a chain of comparisons wants and points that are drawn seldom have: of
// eight variables one in forty thousand ascends.
#pragma once

#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// Points, a value for each variable (1 for truth values), whatever the conditions say: distinct values of several
/// magnitudes and signs, ascending and descending, and all cyclic shifts of these, in the order in which the rule names
/// its variables, in that of their names, and in one that meets as many of its comparisons as one does; behind these
/// the same with neighbours equal. At most `most`; none of fewer than two numbers or in rules with derivatives.
std::vector<std::vector<double>> ordered_values(const egraph::Rule& rule, const Sorts& sorts, std::size_t most);

}  // namespace trident::rulecheck
