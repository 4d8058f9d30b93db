// What a point must do to show what an expression's selections do: the turns that lead to each of their branches.
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
  std::size_t alone = 0;  ///< the first so many ways are to one branch, the others to two of two selections
  bool complete = true;   ///< no branch was left out because there are too many
};

/// Of each selection both sides that the ranges do not exclude, with the turns that lead there from an output by the
/// way with the fewest of them; then pairs, as far as there is room.
Branches branches_of(const expr::Expr& expr);

/// By variable: whether a node's value depends on it.
std::vector<bool> variables_of(const expr::Expr& expr, expr::NodeId node);

}  // namespace trident::equiv
