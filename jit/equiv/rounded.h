// One op of expr with its result correctly rounded in the op's type: the "strict" evaluation of the policy bounded(k)
// is a whole expression computed with these, op by op.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "jit/equiv/tracked.h"
#include "jit/expr/expr.h"

namespace trident::equiv {

namespace rounded_detail {

/// Evaluates an op that the processor does not round correctly.
double apply_function(expr::Op op, expr::Type type, std::int64_t exponent, double a, double b, double c);

template <class T, class Wide>
std::optional<double> rounded_to(const Tracked<Wide>& value) {
  if (std::isnan(value.v)) return static_cast<T>(value.v);
  const auto lo = static_cast<T>(value.v - value.e);
  const auto hi = static_cast<T>(value.v + value.e);
  // A value that is not known to be nonzero may have either sign, and so may the zero that it is rounded to.
  if (lo != hi || (lo == 0 && value.v != 0 && !(std::fabs(value.v) > value.e))) return std::nullopt;
  return lo == 0 ? std::copysign(T(0), static_cast<T>(value.v)) : lo;
}

}  // namespace rounded_detail

/// Rounds a value to f32 or f64, unless its error leaves a choice.
template <class Wide>
std::optional<double> rounded(expr::Type type, const Tracked<Wide>& value) {
  return type == expr::Type::f32 ? rounded_detail::rounded_to<float>(value) : rounded_detail::rounded_to<double>(value);
}

/// Evaluates one op. `type` is f32 or f64; operands and the result are values of that type (held in doubles). Takes the
/// float ops that Big's apply takes; Cast is not one of them.
[[gnu::always_inline]] inline double apply_rounded(expr::Op op, expr::Type type, std::int64_t exponent, double a,
                                                   double b, double c) {
  if (units_of(op) > 1) return rounded_detail::apply_function(op, type, exponent, a, b, c);
  const expr::RealOp real = expr::real_op(op);
  if (type == expr::Type::f64) return apply_plain<double>(real, exponent, a, b, c);
  return apply_plain<float>(real, exponent, static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
}

}  // namespace trident::equiv
