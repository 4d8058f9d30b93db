// Values at which a rule is most likely to be wrong: zeros, ends of a type's range, ties of roundings, ends of the
// integers, and what the rule's own constants point at.
#pragma once

#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/expr/expr.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// The values of terms without variables, but for zero: (exp 20) as well as 20. None in a rule about types.
std::vector<double> constants_of(const egraph::Rule& rule, const Sorts& sorts);

/// Values of `type` (f32 or f64; both in a rule about types), none twice, infinities and NaN last: the first are those
/// worth trying in all combinations. Some hundreds.
std::vector<double> corners_of(const egraph::Rule& rule, const Sorts& sorts, expr::Type type);

}  // namespace trident::rulecheck
