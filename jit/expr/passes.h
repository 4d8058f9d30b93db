// Divides an expression into the passes over the arrays that its kernel takes (jit/kir/kir.h). A pass is an expression
// of its own, where values that are known before it are scalar variables: x - mean(x) becomes mean(x), then x - r1.
// Values of elements that several passes need are computed in each, from the same nodes and so with the same bits.
#pragma once

#include <vector>

#include "jit/expr/expr.h"

namespace trident::expr {

struct Pass {
  /// The outputs are results for the next pass, or those of the whole. Its last `results` variables are the outputs of
  /// the pass before, in their order.
  Expr expr;
  std::size_t results = 0;
  std::vector<NodeId> origin;  ///< of each node: what it was in the whole
};

/// Returns `expr`, whose argmin and argmax have become two reductions each: the least or greatest element, then the
/// least number of the elements that are it, or that are NaN. `options` are those of lowering.
Expr without_locating(const Expr& expr, const LowerOptions& options);
bool locates(const Expr& expr);

/// Returns whether every value is known in one pass, those that no output needs among them. `kinds` of the outputs.
bool is_one_pass(const Expr& expr, const std::vector<kir::OutputKind>& kinds);

/// Returns the passes of a checked expression without argmin, argmax and Diff, the first one first.
/// Errors: LimitExceeded (too many results between two passes).
Result<std::vector<Pass>> passes_in(const Expr& expr, const std::vector<kir::OutputKind>& kinds);

}  // namespace trident::expr
