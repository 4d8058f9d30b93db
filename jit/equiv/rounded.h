// One op of expr with its result correctly rounded in the op's type: the "strict" evaluation of the policy bounded(k)
// is a whole expression computed with these, op by op.
#pragma once

#include <cstdint>

#include "jit/expr/expr.h"

namespace trident::equiv {

/// Evaluates one op. `type` is f32 or f64; operands and the result are values of that type (held in doubles). Takes the
/// float ops that Big's apply takes; Cast is not one of them.
double apply_rounded(expr::Op op, expr::Type type, std::int64_t exponent, double a, double b, double c);

}  // namespace trident::equiv
