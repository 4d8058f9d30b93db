// Rules about tables: exact, so that every difference of a bit is one.
//
// Their two sides are evaluated for single elements as the ops are defined (jit/expr/ops.def): tables of none to a
// hundred numbers that all differ, integers that wrap, most of them near the ends of the tables, some near the ends of
// their type. Rules that say nothing of `index` are tried with integers of 32 bits too.
#pragma once

#include "jit/rulecheck/rulecheck.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// For a rule with `mixed` set. A derivative by ?x of what only numbers elements of tables is 0 wherever it exists.
RuleVerdict check_memory_rule(const egraph::Rule& rule, const Sorts& sorts, const RuleCheckOptions& options);
std::optional<Example> example_of_memory_rule(const egraph::Rule& rule, const Sorts& sorts);

}  // namespace trident::rulecheck
