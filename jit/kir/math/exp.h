// Shared by the exponential family: x = n ln 2 + r, and e^x - 1 in two parts.
#pragma once

#include "jit/kir/math/functions.h"

namespace trident::kir::math {

struct ExpReduced {
  Value magic_sum;  ///< n + magic(): its low bits are those of n
  Value n;
  Value r;             ///< x - n ln 2, rounded; |r| <= ln(2) / 2
  Value negated_tail;  ///< where valid (ulp1): r - (x - n ln 2), small
};
/// `magnitude` bounds |x|, which must be finite. Only ulp1 gets a tail, and only when asked for; r keeps the sign of a
/// zero x then (in every class).
ExpReduced reduce_exp(Expansion& e, Value x, double magnitude, bool with_tail);

/// min(max(x, lo), hi) as far as the range does not imply it; NaN stays.
Value clamp(Expansion& e, Value x, const Range& range, double lo, double hi);

/// 2^(n + shift) for an n in the low bits of `magic_sum`; must be normal.
Value power_of_two(Expansion& e, Value magic_sum, int shift);

struct Expm1 {
  Value scale;  ///< 2^n
  Value p;      ///< e^r - 1
  Value head;   ///< e^x - 1 is head + tail, or head alone where tail is invalid
  Value tail;
};
/// (e^x - 1) * 2^shift for |x| <= magnitude, which must not overflow the scale; ulp1 gives both parts.
Expm1 expm1_parts(Expansion& e, Value x, double magnitude, int shift);

}  // namespace trident::kir::math
