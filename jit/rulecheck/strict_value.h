// Evaluates a side of a rule in floating point: op by op, each correctly rounded in `type`, whatever the values.
#pragma once

#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/expr/expr.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// Returns whether a term is a function that kernels do not round correctly.
bool is_function(const egraph::PatternTerm& term);

/// Returns a term and its operands, without the others of its side.
egraph::Pattern term_alone(const egraph::Pattern& side, std::uint8_t term);

/// Returns the value of every term. `values` by variable are of `type` (f32 or f64) or, as truth values, 0 or 1; so are
/// results. No derivatives. In a rule about types every value has its own type instead. i64 values are doubles here, so
/// casts to it must not need more. `faithful`: functions are not correctly rounded but, as in kernels, off by an ulp
/// here and there, equally for equal operands. They stay odd or even, and exact where results are integers or
/// infinities.
std::vector<double> strict_values(const egraph::Pattern& side, const std::vector<double>& values, expr::Type type,
                                  const Sorts& sorts, bool faithful = false);
/// Returns the value of the root.
double strict_value(const egraph::Pattern& side, const std::vector<double>& values, expr::Type type,
                    const Sorts& sorts);

}  // namespace trident::rulecheck
