// The points where what a rule says changes: where a divisor is zero, compared terms are equal, a step's operand is an
// integer. Most are no floating-point numbers, and no sample hits them. In a rule of rational operations they are found
// by solving for one variable at a time, where that is linear, and both sides are compared in exact arithmetic there
// and a little beside it.
#pragma once

#include <optional>

#include "jit/rulecheck/rulecheck.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// What is wrong with a rule at such a point; nothing where nothing was found, for rules of other operations, about
/// types, or with constants that are no simple fractions (0.1 is meant to be a tenth).
std::optional<RuleVerdict> fault_at_edges(const egraph::Rule& rule, const expr::rewrite::RuleSet::Tags& tags,
                                          const Sorts& sorts, const RuleCheckOptions& options);

}  // namespace trident::rulecheck
