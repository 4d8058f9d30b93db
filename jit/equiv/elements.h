// An expression with reductions, written out for calls of a fixed number of elements: the result is plain arithmetic,
// which parts.h compares as it does any other.
#pragma once

#include <cstddef>
#include <optional>

#include "jit/expr/expr.h"

namespace trident::equiv {

/// Replaces each array by `elements` (one to three) variables of its range, and reads elements of tables at the numbers
/// of these elements. Sums are in the order of jit/kir/reduction.h. Array outputs are those of the first element.
/// Returns nothing where that needs more variables than an expression may have. `expr` has passed check() and has no
/// Diff; so has the result.
std::optional<expr::Expr> of_elements(const expr::Expr& expr, std::size_t elements);

}  // namespace trident::equiv
