// One division for two: x / c and y / d become x (d t) and y (c t) with t = 1 / (c d). The divider begins a division of
// a vector in the time of ten products or more, so this pays where divisions or roots are what a kernel waits for. Each
// quotient is rounded four times instead of once; where an operation may amplify that, its exact remainder corrects it,
// as with shared reciprocals. A root counts as a divisor like any other.
//
// Both divisors must be known at the same time. The level of a value is the number of divisions that follow one another
// on the way to it; two divisors of one level never need each other's quotients, and neither do any two pairs. So pairs
// are made within a level, and the expression is rebuilt level by level.
//
// The divisors and their product must be proven to be far from zero and from overflow, as declared and assumed ranges
// show.
#pragma once

#include "jit/expr/expr.h"

namespace trident::expr {

/// Returns `expr` with divisions joined, or as it is where no two can be. Not for the exact policy.
Expr join_divisions(const Expr& expr, const LowerOptions& options);

}  // namespace trident::expr
