// Values of an expression around which points matter: random evaluation seldom comes near enough.
#pragma once

#include <functional>
#include <vector>

#include "jit/equiv/probe.h"

namespace trident::equiv {

/// Finds values that need points near zero. Divisors, and operands of roots and logarithms: small errors count most
/// there. Operands of exponentials and the like, which are 0 or overflow except near zero: their only values may be a
/// peak that no drawn point met. Operands of comparisons that `uniform()` points (drawn from the ranges) meet on one
/// side only. Returns a few of each, floats that do not depend on reductions.
/// floats that do not depend on reductions.
std::vector<Probe::Target> critical_values(const expr::Expr& expr, Probe& probe, const std::function<Point()>& uniform);

/// Finds values whose sign decides: both operands of atan2, the second of copysign. Where such a value is zero, forms
/// that are equal over the reals give zeros of other signs, and that is no small error. Returns a few.
std::vector<Probe::Target> sign_values(const expr::Expr& expr);

}  // namespace trident::equiv
