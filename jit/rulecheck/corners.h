// Values at which rules tend to be wrong: zeros, ends of a type's range, ties of roundings, ends of the integers, and
// values that the rule's own constants suggest.
#pragma once

#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/expr/expr.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

inline constexpr double kHalfPi = 1.5707963267948966;

/// Returns the nonzero values of terms without variables: (exp 20) as well as 20. None in a rule about types.
std::vector<double> constants_of(const egraph::Rule& rule, const Sorts& sorts);

/// Returns values of `type` (f32 or f64; both in a rule about types), none twice, infinities and NaN last. The first
/// are worth trying in all combinations. Some hundreds.
std::vector<double> corners_of(const egraph::Rule& rule, const Sorts& sorts, expr::Type type);

}  // namespace trident::rulecheck
