// Finds the points where a rule's statement changes: where a divisor is zero, compared terms are equal, a step's
// operand is an integer. Most are no floating-point numbers, and no sample hits them. In a rule of rational operations
// they are found by solving for one variable at a time, where that is linear. Both sides are compared in exact
// arithmetic there and a little beside it.
#pragma once

#include <optional>

#include "jit/rulecheck/rulecheck.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// Returns the rule's fault at such a point, if one was found. Skips rules of other operations, about types, or with
/// constants that are no simple fractions (0.1 is meant to be a tenth).
std::optional<RuleVerdict> fault_at_edges(const egraph::Rule& rule, const expr::rewrite::RuleSet::Tags& tags,
                                          const Sorts& sorts, const RuleCheckOptions& options);

}  // namespace trident::rulecheck
