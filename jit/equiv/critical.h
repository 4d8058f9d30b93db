// Values of an expression around which points are worth having: an evaluation at random seldom comes near enough.
#pragma once

#include <functional>
#include <vector>

#include "jit/equiv/probe.h"

namespace trident::equiv {

/// What is divided by, or put under a root or into a logarithm, and may come near to zero: small errors count most
/// there. What is put into exponentials and the like, which are 0 or overflow but where it is near to zero: all that there
/// is may be a peak that no point drawn has met. And what steps compare of which `uniform()` points (drawn from the ranges) meet one side only. A few of each,
/// floats that do not depend on reductions.
std::vector<Probe::Target> critical_values(const expr::Expr& expr, Probe& probe, const std::function<Point()>& uniform);

/// What says a sign: both operands of atan2, the second of copysign. Where such a value is zero, forms that are the same
/// over the reals give zeros of other signs, and that is no small error. A few, as above.
std::vector<Probe::Target> sign_values(const expr::Expr& expr);

}  // namespace trident::equiv
