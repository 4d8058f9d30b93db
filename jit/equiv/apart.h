// Reductions out of the way: what goes into them and what is made of their results are compared as expressions without.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::equiv {

/// Two expressions without reductions: the results of these are variables, and what goes into them is an output.
struct Apart {
  expr::Expr source, form;
  /// By output: whether it depends on a reduction or goes into one, so that its tail (tail.h) has not been explored:
  /// a set has few calls, and a point near a pole of what is made of their results may be in none.
  std::vector<bool> unexplored;
};

/// Each of the form's reductions goes with one of the source's that takes what is equal at points drawn with `seed`, in
/// their order; a wrong pair will not pass as the same. Nothing when one has no partner. Both have passed check(), have
/// no Diff, and the same variables and outputs; so have the results.
std::optional<Apart> take_apart(const expr::Expr& source, const expr::Expr& form, std::uint64_t seed);

}  // namespace trident::equiv
