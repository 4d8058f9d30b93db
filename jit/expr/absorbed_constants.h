// Products of sums with constants, where the sum takes up the factor and the product is saved:
//
//   (a c + d) e = a (c e) + d e      (x + d) e = x e + d e, one fma      y c (x + d) = y (x c + d c)
//
// A sum takes up a factor if each of its terms does: a constant, a product that has a constant or such a sum for a
// factor, a quotient of one, or next to a constant any term that makes no fma yet. Nothing else may need the values
// that change.
//
// New values must not overflow or lose bits to underflow where the source's do not. A factor of at most 1 makes all
// values smaller, and beside a constant that is not zero the rest of a term does not count once it underflows. Other
// sums are left alone unless declared and assumed ranges show them to be far from overflow. Nor may less overflow than
// in the source where the value is multiplied further: inf 0 is NaN, which a finite value times 0 is not.
//
// A constant times another is rounded once more, by no more than the sum is. Where a sum cancels, that shows: so its
// value may only go into products, sums and outputs, or must be known to be no zero.
#pragma once

#include "jit/expr/expr.h"

namespace trident::expr {

/// Returns `expr` with factors taken up. Not for policies that allow one rounding error an operation.
Expr absorb_constants(const Expr& expr, const LowerOptions& options);

}  // namespace trident::expr
