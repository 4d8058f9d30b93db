// Where errors grow. The sum of two numbers of opposite signs, and most functions, may turn a rounding error of an
// operand into many ulp of the result. How many depends on the point, so the greatest error over many points is a
// matter of luck, and bounded(k) can only be kept by errors that are no larger than the reference's own, or the very
// same.
#pragma once

#include "jit/expr/expr.h"

namespace trident::expr {

/// Says per node whether an operation on the way to some output may amplify its relative error.
std::vector<bool> amplified_errors(const Expr& expr, const LowerOptions& options);

}  // namespace trident::expr
