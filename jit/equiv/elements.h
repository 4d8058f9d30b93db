// An expression with reductions for calls of so many elements, its reductions written out: what is left is plain
// arithmetic, which parts.h compares as it does any other.
#pragma once

#include <cstddef>
#include <optional>

#include "jit/expr/expr.h"

namespace trident::equiv {

/// In each place of an array stand `elements` (one to three) variables, of the array's range, and elements of tables are
/// read at the numbers of these elements; sums are in the order of
/// jit/kir/kir.h. Outputs that are arrays are those of the first element. Nothing where that takes more variables than
/// an expression may have. `expr` has passed check() and has no Diff; so has the result.
std::optional<expr::Expr> of_elements(const expr::Expr& expr, std::size_t elements);

}  // namespace trident::equiv
