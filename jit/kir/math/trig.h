// Shared by sin, cos and tan: the argument less a multiple of pi/2 or pi.
#pragma once

#include "jit/kir/math/functions.h"

namespace trident::kir::math {

struct Reduced {
  Value r;             ///< x - n * period, or (n + 1/2) * period - x when offset is 0.5, rounded
  Value negated_tail;  ///< where valid (ulp1): r - (x - n * period), small
  Value quotient;      ///< where valid: an integer whose low bits are those of n; invalid means n = 0
  Value sign;          ///< where valid: the sign bit of x, and the rest is about |x|
};

/// period_in_pi is 0.5 or 1, offset 0 or 0.5. `range` must be within 1e5 (f32) or 1e9 (f64).
Reduced reduce(Expansion& e, Value x, const Range& range, double period_in_pi, double offset);

/// Reduces modulo pi/2 an x of any size; NaN for infinities.
Reduced reduce_huge(Expansion& e, Value x);

/// sin and cos of r + tail, |r| <= pi/4.
Value sin_of_reduced(Expansion& e, const Reduced& a);
Value cos_of_reduced(Expansion& e, const Reduced& a);

}  // namespace trident::kir::math
