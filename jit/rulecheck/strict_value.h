// A side of a rule in floating point: op by op, each correctly rounded in `type`, whatever the values.
#pragma once

#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/expr/expr.h"

namespace trident::rulecheck {

/// `values` by variable are of `type` (f32 or f64) or, as truth values, 0 or 1, as is a result that is one. No
/// derivatives.
double strict_value(const egraph::Pattern& side, const std::vector<double>& values, expr::Type type);

}  // namespace trident::rulecheck
