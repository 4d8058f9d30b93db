// Branches of an expression's selections, each with the turns that a point must take to reach it.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::equiv {

/// A side of a selection: 0 where its condition holds.
struct Turn {
  std::uint32_t node = 0;
  int side = 0;
};

struct Branches {
  std::vector<std::vector<Turn>> ways;  ///< all turns of one must be taken together
  std::size_t alone = 0;  ///< number of ways to one branch, which come first; the others lead to two of two selections
  bool complete = true;   ///< no branch was left out because there are too many
};

/// Returns both sides of each selection that the ranges do not exclude. Each has the turns of the way from an output
/// with the fewest; then come pairs of sides, as far as there is room.
Branches branches_of(const expr::Expr& expr);

/// Returns, by variable, whether a node's value depends on it.
std::vector<bool> variables_of(const expr::Expr& expr, expr::NodeId node);

}  // namespace trident::equiv
