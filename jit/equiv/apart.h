// Takes reductions out of expressions, so that their operands and the uses of their results are compared without them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::equiv {

/// Two expressions without reductions: the reductions' results became variables, their operands became outputs.
struct Apart {
  expr::Expr source, form;
  /// Per output: whether it depends on a reduction or is an operand of one, so that its tail (tail.h) has not been
  /// explored. A set has few calls, and none may have a point near a pole of a function of their results.
  std::vector<bool> unexplored;
};

/// Pairs each of the form's reductions with one of the source's whose operands are equal at points drawn with `seed`,
/// in their order; a wrong pair will not pass as the same. Returns nothing when one has no partner. Both have passed
/// check(), have no Diff, and the same variables and outputs; so have the results.
std::optional<Apart> take_apart(const expr::Expr& source, const expr::Expr& form, std::uint64_t seed);

}  // namespace trident::equiv
