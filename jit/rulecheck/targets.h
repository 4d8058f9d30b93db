// Values of one variable at which a comparison in a rule changes: a rule may be wrong there alone.
#pragma once

#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

struct Targets {
  std::vector<double> equal, beside;
  [[nodiscard]] bool empty() const { return equal.empty() && beside.empty(); }
};

/// Returns, by variable, finite f64 values at and around places where two compared terms (or operands of min and max)
/// that depend on no other variable meet. Bisection finds them between values of all magnitudes and steps within some
/// hundred. At most some two hundred for each; none in rules about types or with derivatives.
std::vector<Targets> targets_of(const egraph::Rule& rule, const Sorts& sorts);

}  // namespace trident::rulecheck
