// Values of variables in a certain order, as a chain of comparisons needs and drawn points seldom have: of eight
// variables one in forty thousand ascends.
#pragma once

#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// Returns points, a value for each variable (1 for truth values), whatever the conditions say. They are distinct
/// values of several magnitudes and signs, ascending, descending, and in all cyclic shifts. The variables' orders: that
/// in which the rule names them, that of their names, and one that meets as many of its comparisons as one can; then
/// the same with neighbours equal. At most `most`; none for fewer than two numbers or rules with derivatives.
std::vector<std::vector<double>> ordered_values(const egraph::Rule& rule, const Sorts& sorts, std::size_t most);

}  // namespace trident::rulecheck
