// Arithmetic on numbers, one lane at a time: most of the work of checks. Gives the very values that the
// general way gives (evaluator.h), with each operand loaded once and nothing asked that cannot be.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "jit/equiv/lanes.h"

namespace trident::equiv {

/// How the value of an op follows from its operands', where its lanes may be plain.
enum class PlainRule : std::uint8_t { none, sum, product, copy, quotient, reciprocal, root };
constexpr PlainRule plain_rule(expr::Op op) {
  using enum expr::Propagation;
  const expr::OpInfo& row = expr::info(op);
  if (!row.is_real || expr::is_step(op)) return PlainRule::none;
  if (row.rounding == expr::Rounding::exact)
    return row.propagation == proportional && row.arity == 1 ? PlainRule::copy : PlainRule::none;
  if (row.rounding != expr::Rounding::correct) return PlainRule::none;
  if (row.propagation == additive && row.arity == 2) return PlainRule::sum;
  if (row.propagation == bilinear && row.arity == 2) return PlainRule::product;
  if (row.propagation == quotient) return PlainRule::quotient;
  if (row.propagation != relative) return PlainRule::none;
  return row.domain == expr::Domain::all ? PlainRule::reciprocal : PlainRule::root;
}
constexpr bool can_be_plain(expr::Op op) {
  return plain_rule(op) != PlainRule::none;
}

/// Returns whether a lane is NaN in every evaluation.
template <class T>
bool is_surely_nan(const Lanes<Tracked<T>>& a, std::size_t i) {
  return !is_finite(a.c[i].v) && std::isnan(a.c[i].v) && a.c[i].e == 0;
}

/// Computes a lane of such an op one of whose operands is NaN. Returns false, and the lane means nothing, where that is
/// not sure, or an infinity may matter.
template <class T>
bool set_nan_lane(const expr::Node& node, const Lanes<Tracked<T>>& a, const Lanes<Tracked<T>>& b, Lanes<Tracked<T>>& r,
                  std::size_t i) {
  const auto unsure = static_cast<std::uint8_t>(a.unsure[i] | b.unsure[i]);
  const bool infinite = std::isinf(a.s[i]) || std::isinf(b.s[i]) || (unsure & kEitherInfinity) != 0;
  if (infinite || !(is_surely_nan(a, i) || is_surely_nan(b, i))) return false;
  r.s[i] = apply_rounded(node.op, node.type, 0, a.s[i], b.s[i], 0);
  set_exact(r.c[i], std::numeric_limits<double>::quiet_NaN());
  r.d[i] = 0, r.unsure[i] = unsure;
  return true;
}

/// Returns whether a divisor or radicand, with this size and strict value, is surely on its side of zero: for the
/// reference, for every evaluation, and for rounding (steps.h).
template <class T>
[[gnu::always_inline]] inline bool is_clear(T size, T error, long double d, double strict) {
  return static_cast<long double>(size) > d + static_cast<long double>(4 * error) && std::isfinite(strict) &&
         strict != 0;
}

/// Computes a lane of such an op. Returns false, and the lane means nothing, where an infinity is an operand's value or
/// bound, or may be the result beyond the reference's own numbers, where rounding decides what is NaN, and near poles.
template <class T>
[[gnu::always_inline]] inline bool set_plain_lane(const expr::Node& node, const Lanes<Tracked<T>>& a,
                                                  const Lanes<Tracked<T>>& b, Lanes<Tracked<T>>& r, std::size_t i,
                                                  long double k) {
  const expr::OpInfo& row = expr::info(node.op);
  const PlainRule rule = plain_rule(node.op);
  const bool linear = rule == PlainRule::sum || rule == PlainRule::product, of_two = row.arity == 2;
  auto unsure = static_cast<std::uint8_t>(of_two ? a.unsure[i] | b.unsure[i] : a.unsure[i]);
  if ((unsure & (linear ? kMayBeNan : kMayBeNan | kOpen | kEitherInfinity)) != 0) return false;
  // An infinity or NaN among these makes the sum of size and d infinite or NaN below; it is much quicker to ask first.
  if (!is_finite(a.c[i].v) || (of_two && !is_finite(b.c[i].v))) return linear && set_nan_lane(node, a, b, r, i);
  if (!is_finite(a.d[i]) || !is_finite(a.c[i].e)) return false;
  if (of_two && (!is_finite(b.d[i]) || !is_finite(b.c[i].e))) return false;
  // Numbers, one by one: a structure of them would go through memory. The rules are those of tracked.h and
  // running_error.h, where nothing is infinite and errors of 0 need no case of their own.
  const T xv = a.c[i].v, xe = a.c[i].e, yv = of_two ? b.c[i].v : xv, ye = of_two ? b.c[i].e : xe;
  const long double xd = a.d[i], yd = of_two ? b.d[i] : xd;
  const auto x = std::fabs(static_cast<long double>(a.c[i].v));
  const auto y = of_two ? std::fabs(static_cast<long double>(b.c[i].v)) : x;
  if (rule == PlainRule::quotient && !is_clear(std::fabs(yv), ye, yd, b.s[i])) return false;
  if (rule == PlainRule::reciprocal && !is_clear(std::fabs(xv), xe, xd, a.s[i])) return false;
  if (rule == PlainRule::root && !is_clear(xv, xe, xd, a.s[i])) return false;
  const T v = apply_plain<T>(expr::real_op(node.op), 0, xv, yv, yv);
  r.c[i].v = v;
  const auto size = std::fabs(static_cast<long double>(v));
  const auto factor = static_cast<T>(row.factor);
  T e = 0;
  long double d = 0;
  switch (rule) {
    case PlainRule::none: CHECK(false);
    case PlainRule::sum: e = xe + ye, d = xd + yd; break;
    case PlainRule::product:
      e = std::fabs(xv) * ye + std::fabs(yv) * xe + xe * ye, d = x * yd + y * xd + xd * yd;
      break;
    case PlainRule::copy: e = factor * xe, d = xd; break;
    case PlainRule::quotient:
      e = T(1.34) * (xe + std::fabs(v) * ye) / std::fabs(yv), d = (xd + size * yd) / (y - yd);
      break;
    case PlainRule::reciprocal: e = factor * std::fabs(v) * xe / std::fabs(xv), d = size * xd / (x - xd); break;
    case PlainRule::root: e = factor * std::fabs(v) * xe / xv, d = xd / (size + std::sqrt(x - xd)); break;
  }
  if (rule != PlainRule::copy) {
    e += std::fabs(v) * kUnit<T> + kLeastError<T>;
    const long double unit = rule == PlainRule::sum ? x + y : size + d;
    d += k * (running_detail::half_ulp_of_one(node.type) * unit + running_detail::half_least(node.type));
  }
  r.c[i].e = e, r.d[i] = d;
  r.s[i] = apply_rounded(node.op, node.type, 0, a.s[i], b.s[i], 0);
  const long double greatest = greatest_finite(node.type);
  if (!(size + d <= greatest && std::isfinite(r.s[i]))) [[unlikely]] {
    // Beyond the type, but not beyond the reference's own numbers.
    if (!is_finite(r.c[i].v) || !is_finite(r.c[i].e) || !is_finite(r.d[i])) return false;
    const bool infinite = std::isinf(a.s[i]) || std::isinf(b.s[i]);
    if (rule == PlainRule::product && infinite) return false;  // it may be times zero
    if (size + d > greatest) unsure |= size - d <= greatest ? kOverflows | kMayOverflow : kOverflows;
  }
  r.unsure[i] = unsure;
  return true;
}

}  // namespace trident::equiv
