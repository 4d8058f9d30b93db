// Small, sound identities before lowering: those of an optimising compiler under -ffast-math, and those that clean up
// after the derivative passes (0 * x, 1 * x, + 0). The e-graph does the rewriting that needs a search.
//
// exact    only identities that keep all bits: signs moved through products, x * 1, x / 2^n, dead branches, sharing
//   bounded  identities over the reals whose side conditions the ranges prove, each with an error that bounded(k) has
//            room for; products and sums contract to fma
//   fast     the same with finite inputs, whether declared so or not
#pragma once

#include "jit/expr/expr.h"

namespace trident::expr {

/// `expr` has passed check() and has no Diff. Variables, and the number and names of outputs, stay.
Expr simplify(const Expr& expr, const LowerOptions& options);

/// Drops operations that change nothing, for policies other than exact. Every remaining operation computes a value
/// that it computed before, but for powers of two, which move through products into sums without a rounding
/// (subnormal numbers aside), and signs of zeros that no output shows. Includes what the ranges prove, as 0 * x =
/// 0.
Expr drop_idle_operations(const Expr& expr, const LowerOptions& options);

/// Runs the last of simplify()'s passes: products that a sum needs become part of it (fma), which as a rule makes
/// results more accurate. Not for the exact policy.
Expr contract(const Expr& expr);

/// Contracts likewise, but for sums that may cancel on the way to a divisor, a root or a logarithm: what is zero there
/// stays zero. Not for the exact policy.
Expr contract_carefully(const Expr& expr);

/// Writes quotients by constants as two products each: x h + x l, where h + l is the inverse to twice the digits. The
/// result is off by half an ulp and 2^-22 ulp of an f32; tiny quotients by half the least number more. Infinities, NaN
/// and signs of zeros are the quotient's. Powers of two, and constants so large or small that parts of the inverse
/// might underflow, stay divisors. Not for the exact policy.
Expr multiply_constant_quotients(const Expr& expr);

}  // namespace trident::expr
