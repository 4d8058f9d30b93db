// Sums and products as n-ary bags: binary rules find their way through reorderings of long sums only by luck, a
// polynomial has no order. The tactic takes every region of +, -, *, fma, powers and division by monomials in the
// incumbent term. It computes the region's polynomial over its operands (atoms), and merges other forms with it:
// expanded, collected by common factors (Horner where powers nest), as a power of a smaller polynomial, over one
// denominator. Where sines and cosines (or sinh and cosh, roots, absolute values) of one argument meet, it reduces by
// their relations.
#pragma once

#include "jit/egraph/search.h"

namespace trident::expr::rewrite {

/// Returns a tactic for policies that allow identities over the reals. Stateless; may be shared.
egraph::Tactic collect_tactic();

}  // namespace trident::expr::rewrite
