// Finds points where a rule's statement changes that are no floating-point numbers, in rules whose operations are not
// rational (edges.h has the others): sqrt(a) is 1.7 at a = 2.89; a*a is 2 and exp(a) is 3 nowhere among the floats. All
// variables but one take drawn values. For the remaining one it finds the values at which compared terms are equal, a
// divisor or a sign's operand is zero or a step's operand is an integer: between floats where f64 arithmetic has a
// change of sign, then in MPFR to a hundred digits. There, terms whose difference changes its sign and is negligible
// beside them are equal (no pole and no jump makes them so), and both sides are evaluated with these terms tied. Zeros
// without a change of sign, as of (a - 1.7)^2, are sought at minima, and integers that a step's operand only touches,
// as sin(a) does 1, at maxima too. All variables or some take such values at once. A little beside points where several
// terms vanish at once the sides are compared as anywhere.
#pragma once

#include <optional>

#include "jit/rulecheck/rulecheck.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// Returns the rule's fault at such a point, if one was found. Skips rules about types or with derivatives, and those
/// with constants that stand for reals (pi), which move the terms that they are compared with.
std::optional<RuleVerdict> fault_at_ties(const egraph::Rule& rule, const expr::rewrite::RuleSet::Tags& tags,
                                         const Sorts& sorts, const RuleCheckOptions& options);

}  // namespace trident::rulecheck
