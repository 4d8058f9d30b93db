// Checks rules about tables. They are exact, so any difference in a bit is a fault.
//
// The two sides are evaluated for single elements as the ops are defined (jit/expr/ops.def). Tables have none to a
// hundred numbers that all differ. Integers wrap; most are near the ends of the tables, some near the ends of their
// type. Rules that do not mention `index` are tried with integers of 32 bits too.
#pragma once

#include "jit/rulecheck/rulecheck.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// Checks a rule with `mixed` set. A derivative by ?x of a value that only numbers table elements is 0 where it exists.
RuleVerdict check_memory_rule(const egraph::Rule& rule, const Sorts& sorts, const RuleCheckOptions& options);
std::optional<Example> example_of_memory_rule(const egraph::Rule& rule, const Sorts& sorts);

}  // namespace trident::rulecheck
