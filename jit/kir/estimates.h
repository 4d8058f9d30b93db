// Roots by the estimate of the processor at hand and one Newton step: what the ops sqrt14 and rsqrt14 mean.
//
//   y ~ 1/sqrt(x), within 2^-14 of it; g = x y; r = 1/2 - g y/2
//   rsqrt14   y + y r
//   sqrt14    g + g r
//
// The steps are fused multiply-adds, so that machine code and interpreter agree bit for bit on one machine. Estimates
// of other makers have other bits, and policies with one set of bits do not use these ops.
//
// Error, with y = (1 + e)/sqrt(x), |e| <= 2^-14, and u half an ulp of 1. The step leaves 3/2 e^2 <= 2^-27.4 = 0.1 u.
// The rounding of g enters r as u/2 at most, and so both results: sqrt14 has it whole in its g and half of it, with the
// other sign, in r. The rounding of r is u times 2^-14, y/2 is exact. That is 0.6 u before the sum is rounded, or 1.1
// ulp with it. estimates_test.cpp measures both.
//
// No product overflows, and none underflows: g, y and both results lie in [2^-75, 2^75] for any positive x, subnormals
// among them. The exact remainder x - g g would be subnormal for small x, and is not used.
//
// Where x is a zero or infinite the estimate itself is right (and x its own root), but the step would give NaN.
#pragma once

namespace trident::kir {

/// True if the processor has the estimates. Where it has none, both functions are the correctly rounded operations.
bool host_estimates();

float sqrt14(float x);
float rsqrt14(float x);

}  // namespace trident::kir
