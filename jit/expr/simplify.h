// Small, sound identities before lowering: what an optimising compiler does under -ffast-math, and what the simple
// derivative passes leave behind (0 * x, 1 * x, + 0). Rewriting that searches is the e-graph's task, not this one's.
//
//   exact    only what gives the same bits: signs moved through products, x * 1, x / 2^n, dead branches, sharing
//   bounded  identities over the reals whose side conditions the ranges prove, each with an error that bounded(k) has
//            room for; products and sums contract to fma
//   fast     the same with finite inputs, whether declared so or not
#pragma once

#include "jit/expr/expr.h"

namespace trident::expr {

/// `expr` has passed check() and has no Diff. Variables, and the number and names of outputs, stay.
Expr simplify(const Expr& expr, const LowerOptions& options);

/// Drops operations that change nothing, for policies other than exact: every operation that remains computes a value
/// that it computed before, but for powers of two, which move through products into sums without a rounding (numbers
/// below the normal ones aside), and signs of zeros that no output shows. What the ranges prove, as 0 * x = 0,
/// included.
Expr drop_idle_operations(const Expr& expr, const LowerOptions& options);

/// The last of simplify()'s passes alone: products that a sum needs become part of it (fma), which as a rule makes
/// results more accurate. Not for the exact policy.
Expr contract(const Expr& expr);

}  // namespace trident::expr
