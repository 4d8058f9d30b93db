// Quotients by one divisor through its reciprocal where nothing is known of the divisor: x / d and y / d become x r and
// y r with r = 1 / d. The divider begins a division of a vector in the time of ten products or more.
//
// The reciprocal of a vast divisor is subnormal and has lost digits, that of a tiny one is infinite. So a power of two
// stands beside both: r = 1 / (d s) and x / d = (x r) s. It is 1 between 2^-900 and 2^900, 2^-500 above, and 2^500
// below. Then d s and r are normal wherever d is finite and not zero, and x r leaves the normal numbers only where the
// quotient does, or where the product with s hides it:
//
//   d > 2^900     r is in (2^-524, 2^-400]: x r does not overflow, and what it loses below the normal numbers is far
//                 below the least one when it is multiplied by 2^-500
//   d < 2^-900    r is in [2^400, 2^574]: x r is normal, and overflows only where the quotient, 2^500 as great, does
//   others        r is normal, and x r is the quotient but for its roundings
//
// Products with s are exact but for that. So the quotient has two roundings in place of one, which is less than two
// units, and bounded(2) allows these (jit/expr/rules/freedoms.md). Infinities, zeros with their signs, and NaN are the
// quotient's. Ranges show where s is 1, or one of its other values does not occur; then that is left out.
//
// f32 has a cheaper way: estimates (jit/kir/estimates.h).
#pragma once

#include <optional>

#include "jit/expr/expr.h"

namespace trident::expr {

/// Returns `expr` with each divisor of several f64 quotients inverted once, or nothing where there is none. For
/// policies that allow two units of error.
std::optional<Expr> share_divisors(const Expr& expr, const LowerOptions& options);

}  // namespace trident::expr
