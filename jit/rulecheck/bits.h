// What a rule's ieee= tag promises, in strict arithmetic of f64 and f32.
#pragma once

#include "jit/rulecheck/rulecheck.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// For a rule without reductions. Right at once where the tag promises nothing beside what holds of reals.
RuleVerdict check_bits(const egraph::Rule& rule, const expr::rewrite::RuleSet::Tags& tags, const Sorts& sorts,
                       const RuleCheckOptions& options);

}  // namespace trident::rulecheck
