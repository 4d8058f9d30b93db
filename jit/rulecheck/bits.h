// Checks the promises of a rule's ieee= tag, in strict arithmetic of f64 and f32.
#pragma once

#include "jit/rulecheck/rulecheck.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// Checks a rule without reductions. Passes at once where the tag promises nothing beyond the reals.
RuleVerdict check_bits(const egraph::Rule& rule, const expr::rewrite::RuleSet::Tags& tags, const Sorts& sorts,
                       const RuleCheckOptions& options);

}  // namespace trident::rulecheck
