// The points where what a rule says changes that are no floating-point numbers, in rules whose operations are not
// rational (edges.h has the others): sqrt(a) is 1.7 at a = 2.89, a*a is 2 and exp(a) is 3 nowhere among the floats.
// With all variables but one at values that are drawn, the values of the one are found at which compared terms are
// equal, a divisor or the operand of a sign is zero or that of a step an integer: between floats where f64 arithmetic
// has a change of sign, then in MPFR to a hundred digits. There terms whose difference changes its sign and is nothing
// beside them are equal, which no pole and no jump makes them, and both sides are evaluated with what is equal tied.
// Zeros that are no change of sign, as of (a - 1.7)^2, are looked for at the lowest points, and integers that a step's
// operand only touches, as sin(a) does 1, at the greatest too; all variables are put at such values at once, or some;
// and a little beside points where several terms vanish at once the sides are compared as anywhere.
#pragma once

#include <optional>

#include "jit/rulecheck/rulecheck.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// What is wrong with a rule at such a point; nothing where nothing was found, for rules about types or with
/// derivatives, and for those with constants that stand for reals (pi), which move what they are compared with.
std::optional<RuleVerdict> fault_at_ties(const egraph::Rule& rule, const expr::rewrite::RuleSet::Tags& tags,
                                         const Sorts& sorts, const RuleCheckOptions& options);

}  // namespace trident::rulecheck
