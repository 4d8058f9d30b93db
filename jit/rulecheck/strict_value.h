// A side of a rule in floating point: op by op, each correctly rounded in `type`, whatever the values.
#pragma once

#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/expr/expr.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// Whether a term is a function that kernels do not round correctly.
bool is_function(const egraph::PatternTerm& term);

/// A term and what it is made of, without the others of its side.
egraph::Pattern term_alone(const egraph::Pattern& side, std::uint8_t term);

/// Of every term. `values` by variable are of `type` (f32 or f64) or, as truth values, 0 or 1, as is a result that is
/// one. No derivatives. In a rule about types every value is of its own type instead. i64 values are doubles here, so
/// casts to it must not need more. `faithful`: functions are not correctly rounded, as those of kernels are not, but
/// off by an ulp here and there, the same for the same operands. They stay odd or even, and exact at what they make
/// integers and infinities of.
std::vector<double> strict_values(const egraph::Pattern& side, const std::vector<double>& values, expr::Type type,
                                  const Sorts& sorts, bool faithful = false);
/// ... of the root.
double strict_value(const egraph::Pattern& side, const std::vector<double>& values, expr::Type type,
                    const Sorts& sorts);

}  // namespace trident::rulecheck
