// Roots and quotients by the estimate of the processor at hand and one Newton step: what the ops of kir that begin with
// an estimate mean. Ops in 14 are AVX-512's (vrsqrt14ps, vrcp14ps, |e| <= 2^-14), ops in 12 AVX2's (vrsqrtps, vrcpps,
// |e| <= 1.5 * 2^-12). Both kinds are different ops, because images for AVX2 run on processors with AVX-512 too.
//
//   y ~ 1/sqrt(x); g = x y              y ~ 1/b; q = a y
//   14  r = 1/2 - g y/2                 14  r = a - b q
//       rsqrt  y + y r                      q + y r
//       sqrt   g + g r                  12  r = 1 - b y
//   12  r = 1 - g y; p = 1/2 + 3/8 r        q + q (r + r r)
//       rsqrt  y + y r p
//       sqrt   g + g r p
//
// The steps are fused multiply-adds, so that machine code and interpreter agree bit for bit on one machine. Estimates
// of other makers have other bits, and policies with one set of bits do not use these ops.
//
// Error of roots, with y = (1 + e)/sqrt(x), and u half an ulp of 1. The step leaves 3/2 e^2 <= 2^-27.4 = 0.1 u of 14
// bits; of 12 bits, with one term more of the series, 5/2 e^3 <= 0.01 u. The rounding of g enters r as u/2 at most, and
// so both results: sqrt has it whole in its g and half of it, with the other sign, in r. The rounding of r is u times
// 2^-14 (of r, p and their products 4 u times 2^-10.4), y/2 is exact. That is 0.6 u before the sum is rounded, or 1.1
// ulp with it, and 1.6 u of the result.
//
// Error of quotients, with y = (1 + e)/b and the roundings d1 of q and d2 of r. 14: q = (a/b)(1 + e)(1 + d1), so
// r = -a (e + d1 + e d1)(1 + d2), and the sum is (a/b)(1 - e^2 - e (d1 + d2) - ...) before it is rounded: e^2 is
// u/16, the rest less than 2^-12 u. That is 0.07 ulp, with the sum's rounding 0.57 ulp, and 1.07 u of the result. 12:
// the sum is (a/b)(1 + d1)(1 + e^3 + ...): e^3 is less than 0.001 u, the roundings of r and r + r r are 3 u |e|, and d1
// is u. That is 1.01 ulp, with the sum's rounding 1.51 ulp, and 2.01 u of the result.
//
// estimates_test.cpp measures all of them.
//
// Roots of 14 bits take any operand: no product overflows, and none underflows, for g, y and both results lie in
// [2^-75, 2^75] for any positive x, subnormals among them. The exact remainder x - g g would be subnormal for small x,
// and is not used. Where x is a zero or infinite the estimate itself is right (and x its own root), but the step would
// give NaN.
//
// Other ops have *doubtful* operands, for which they are the exact operations (1 / sqrt(x) rounded twice):
//
//   roots of 12 bits: where g is not below infinity. So x is subnormal (its estimate is infinite), a zero, infinite,
//     negative or NaN. A positive normal x has g < 2^65.
//   quotients: where the sum is not *middle*, in [2^-40, 2^88) but for its sign. So a zero, an infinity or a NaN on
//     the way shows, and what overflows or underflows. An estimate of 12 bits is infinite for a subnormal divisor,
//     which gives NaN, and 0 from 2^126 on, which gives 0. Nothing else is lost in 1 - b y, whatever a is.
//   quotients of 14 bits: or where the divisor is not middle. So b y is normal, and so is a, of at least 2^-81, beside
//     which the rounding of a subnormal remainder is nothing.
#pragma once

#include <bit>
#include <cstdint>

#include "jit/kir/kir.h"

namespace trident::kir {

/// True if the processor has the estimates of 14 bits. Where it has none, the functions are the exact operations.
bool host_estimates();

float sqrt14(float x);
float rsqrt14(float x);
float div14(float a, float b);
float sqrt12(float x);
float rsqrt12(float x);
float div12(float a, float b);

/// The exponent of the least middle number, 2^-40, as its bits have it; 128 exponents are middle.
inline constexpr std::uint32_t kMiddleExponent = 87;
/// Returns whether a quotient is far from the ends of the range.
constexpr bool is_middle(float x) {
  return (2 * std::bit_cast<std::uint32_t>(x) - (kMiddleExponent << 24)) >> 31 == 0;
}

}  // namespace trident::kir
