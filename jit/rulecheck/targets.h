// Values of one variable at which a comparison in a rule turns over: a rule may be wrong there alone.
#pragma once

#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// By variable, finite values of f64 around each place where two compared terms (or operands of min and max) that
/// depend on no other variable meet; equal ones first; found by bisection between values of all magnitudes. At most a
/// few dozen for each; none in rules about types or with derivatives.
std::vector<std::vector<double>> targets_of(const egraph::Rule& rule, const Sorts& sorts);

}  // namespace trident::rulecheck
