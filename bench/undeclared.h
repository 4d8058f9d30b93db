// Kernels as callers send them who declare nothing.
#pragma once

#include <limits>
#include <vector>

#include "jit/expr/expr.h"
#include "jit/kir/guard.h"

namespace trident::bench {

/// Takes the declared ranges away; returns them as ranges of data.
inline std::vector<kir::Assumed> undeclare(expr::Expr& e) {
  std::vector<kir::Assumed> seen;
  for (expr::Variable& variable : e.variables) {
    seen.push_back({variable.lo, variable.hi});
    variable.lo = -std::numeric_limits<double>::infinity(), variable.hi = std::numeric_limits<double>::infinity();
  }
  return seen;
}

}  // namespace trident::bench
