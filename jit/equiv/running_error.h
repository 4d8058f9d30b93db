// The running error bound B of the policies (compare.h): how far an evaluation of the source may be from its value when
// every operation on the way errs by up to `k` of its units. It is computed operation by operation beside the value.
//
// An interval [v - d, v + d] around the value over the reals holds what such evaluations give. An operation carries the
// intervals of its operands by its range over them, not by its derivative: the cosine at 0 moves by d^2 / 2, the root
// at 0 by sqrt(d). d = 0 stays 0. Then the operation adds k units of its own:
//
//   a + b, a - b   u (|a| + |b|), even where the sum cancels: so a regrouped sum has the bound that it needs
//   functions      the errors of jit/kir/math/errors.def in ulp (at least one)
//   powers, prod   u for each product of the chain, for each factor
//   others         u |result|
//   reductions     (log2 n + 6) u times the sum of absolute values
//
// each plus half the least subnormal; u is half an ulp of 1. Where an interval contains a step, both sides are in the
// result's interval; integers and masks have intervals of their own.
//
// All of it is plain arithmetic in long double, whose roundings are 2^11 times smaller than those that it bounds, so
// they are left out. MPFR has no part in it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "jit/equiv/tracked.h"
#include "jit/expr/expr.h"

namespace trident::equiv {

/// The values within `d` of `v`.
struct Around {
  long double v = 0;
  long double d = 0;
};

namespace running_detail {

/// Unknown counts as infinite.
inline long double known(long double d) {
  return d >= 0 ? d : std::numeric_limits<long double>::infinity();
}
/// Nothing times infinity is nothing here.
inline long double product(long double a, long double b) {
  return a == 0 || b == 0 ? 0 : a * b;
}
inline long double carried_by_product(const Around& a, const Around& b) {
  return product(std::fabs(a.v), b.d) + product(std::fabs(b.v), a.d) + product(a.d, b.d);
}
/// Returns whether that is infinite by an infinity of an operand: asked first, since such arithmetic takes hundreds of
/// cycles (tracked.h).
inline bool product_is_unbounded(const Around& a, const Around& b) {
  return (!is_finite(b.d) && (a.v != 0 || a.d != 0)) || (!is_finite(a.d) && (b.v != 0 || b.d != 0)) ||
         (!is_finite(a.v) && b.d != 0) || (!is_finite(b.v) && a.d != 0);
}
constexpr long double half_ulp_of_one(expr::Type type) {
  return type == expr::Type::f32 ? 0x1p-24L : 0x1p-53L;
}
constexpr long double half_least(expr::Type type) {
  return type == expr::Type::f32 ? 0x1p-150L : 0x1p-1075L;
}
long double carried_by_others(expr::RealOp op, std::int64_t exponent, const Around& a, const Around& b, const Around& c,
                              long double result);
long double unit_of_function(expr::Op op, expr::Type type, std::int64_t exponent, long double magnitude);

}  // namespace running_detail

// Checks spend most of their time here. So arithmetic is inline, and what is known of an op where it is compiled for
// that op alone (evaluator.h) takes no time.

/// Returns how far the op's value may be from `result`, its value at the centres, with operands in their intervals.
/// Infinite where it may be anything.
[[gnu::always_inline]] inline long double carried(expr::RealOp op, std::int64_t exponent, const Around& a,
                                                  const Around& b, const Around& c, long double result) {
  if (a.d == 0 && b.d == 0 && c.d == 0) return 0;
  if (std::isnan(result)) return 0;
  constexpr long double kUnbounded = std::numeric_limits<long double>::infinity();
  if (op == expr::RealOp::Add || op == expr::RealOp::Sub)
    return is_finite(a.d) && is_finite(b.d) ? running_detail::known(a.d + b.d) : kUnbounded;
  if (op == expr::RealOp::Mul) {
    if (running_detail::product_is_unbounded(a, b)) return kUnbounded;
    return running_detail::known(running_detail::carried_by_product(a, b));
  }
  return running_detail::carried_by_others(op, exponent, a, b, c, result);
}

/// Returns the error of one unit of the op itself, whose result has up to this magnitude.
[[gnu::always_inline]] inline long double unit_error(expr::Op op, expr::Type type, std::int64_t exponent,
                                                     const Around& a, const Around& b, long double magnitude) {
  const long double u = running_detail::half_ulp_of_one(type), least = running_detail::half_least(type);
  switch (expr::info(op).rounding) {
    case expr::Rounding::exact: return 0;
    case expr::Rounding::correct:
      if (op == expr::Op::Add || op == expr::Op::Sub) return u * (std::fabs(a.v) + std::fabs(b.v)) + least;
      return u * magnitude + least;
    case expr::Rounding::approximate: return running_detail::unit_of_function(op, type, exponent, magnitude);
  }
  CHECK(false);
}
/// Returns one unit of a reduction over `n` elements with this sum of absolute values.
long double reduction_error(expr::Type type, std::uint64_t n, long double absolute);

/// Integers from `lo` to `hi`; masks are -1 to 0.
struct Whole {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
  [[nodiscard]] bool sure() const { return lo == hi; }
};

/// Returns all values of an integer type or of masks.
Whole any_of(expr::Type type);
/// Returns the smallest interval that holds both.
Whole hull(const Whole& a, const Whole& b);
/// Evaluates an integer or bool op of signature Same on intervals.
Whole apply_whole(const expr::Node& node, const Whole& a, const Whole& b);

/// Returns 2^(exponent of `magnitude` in `type`): the distance of neighbours there; that of denormals near zero.
long double ulp_at(expr::Type type, long double magnitude);

/// Returns the greatest finite number of a float type.
constexpr long double greatest_finite(expr::Type type) {
  return type == expr::Type::f32 ? static_cast<long double>(std::numeric_limits<float>::max())
                                 : static_cast<long double>(std::numeric_limits<double>::max());
}

}  // namespace trident::equiv
