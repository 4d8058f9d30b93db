// Removes nodes that no output needs.
#pragma once

#include "jit/expr/expr.h"

namespace trident::expr {

/// Drops the nodes that no output reaches and closes the gaps; order and variables stay.
void drop_unused(Expr& expr);

}  // namespace trident::expr
