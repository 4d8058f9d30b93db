// A side of a rule in floating point: op by op, each correctly rounded in `type`, whatever the values.
#pragma once

#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/expr/expr.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// Of every term. `values` by variable are of `type` (f32 or f64) or, as truth values, 0 or 1, as is a result that is
/// one. No derivatives. In a rule about types every value is of its own type instead. i64 values are doubles here, so
/// casts to it must not need more.
std::vector<double> strict_values(const egraph::Pattern& side, const std::vector<double>& values, expr::Type type,
                                  const Sorts& sorts);
/// ... of the root.
double strict_value(const egraph::Pattern& side, const std::vector<double>& values, expr::Type type,
                    const Sorts& sorts);

}  // namespace trident::rulecheck
