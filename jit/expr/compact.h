// Parts of passes that rebuild an expression: nodes and outputs move to new places, and what no output needs is
// removed.
#pragma once

#include <vector>

#include "jit/expr/expr.h"

namespace trident::expr {

/// Drops the nodes that no output reaches and closes the gaps; order and variables stay.
void drop_unused(Expr& expr);

/// Returns `node` with each operand in its new place.
Node moved(Node node, const std::vector<NodeId>& place);

/// Gives `to` the outputs of `from`, whose nodes are at `place` in `to`, and drops what they do not need.
void move_outputs(const Expr& from, Expr& to, const std::vector<NodeId>& place);

}  // namespace trident::expr
