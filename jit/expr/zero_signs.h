// Where the sign of a zero can be seen. Over the reals zero has no sign, and most identities give or take one freely;
// but 1 / 0 is +inf or -inf by that sign, and copysign and atan2 read it. Nodes that such an operation may see a zero
// of keep their exact form.
#pragma once

#include "jit/expr/expr.h"

namespace trident::expr {

/// Says per node whether the sign of its zero may decide about the value of an output.
std::vector<bool> zero_signs_that_matter(const Expr& expr, const LowerOptions& options);

}  // namespace trident::expr
