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
/// zero x then (in every class). n is a multiple of `unit`, and so |r| at most unit ln(2) / 2; unit * magic() is added.
ExpReduced reduce_exp(Expansion& e, Value x, double magnitude, bool with_tail, double unit = 1);

/// f64 of class ulp4 takes n in eighths: a table of eight roots of 2 saves four coefficients.
inline constexpr double kEighthStep = 0.125;
inline bool by_eighths(const Expansion& e) {
  return !e.single() && e.accuracy == Accuracy::ulp4;
}

/// How far 2^n may lie from the normal numbers.
enum class Reach : std::uint8_t {
  normal,   ///< it is one, and so is 2^n (1 + q)
  falling,  ///< kFalling of kir.h
  bounded,  ///< kBounded
};
/// 2^n (1 + q) for n in eighths, where `magic_sum` is n + kEighthStep * magic(). Where q is NaN so is the result.
Value scale_by_eighths(Expansion& e, Value magic_sum, Value q, Reach reach);

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
