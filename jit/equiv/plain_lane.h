// Sums and products of numbers, one lane at a time: most of the work of checks. Gives the very values that the
// general way gives (evaluator.h), with each operand loaded once and nothing asked that cannot be.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "jit/equiv/lanes.h"

namespace trident::equiv {

/// Returns whether lanes of the op may be plain: it is a sum, a difference or a product of two.
constexpr bool can_be_plain(expr::Op op) {
  const expr::OpInfo& row = expr::info(op);
  const bool linear = row.propagation == expr::Propagation::additive || row.propagation == expr::Propagation::bilinear;
  return linear && row.arity == 2 && row.rounding == expr::Rounding::correct && row.is_real;
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

/// Computes a lane of such an op. Returns false, and the lane means nothing, where an infinity is an operand's value or
/// bound, or may be the result beyond the reference's own numbers, and where rounding decides what is NaN.
template <class T>
[[gnu::always_inline]] inline bool set_plain_lane(const expr::Node& node, const Lanes<Tracked<T>>& a,
                                                  const Lanes<Tracked<T>>& b, Lanes<Tracked<T>>& r, std::size_t i,
                                                  long double k) {
  auto unsure = static_cast<std::uint8_t>(a.unsure[i] | b.unsure[i]);
  if ((unsure & kMayBeNan) != 0) return false;
  // An infinity or NaN among these makes the sum of size and d infinite or NaN below; it is much quicker to ask first.
  if (!is_finite(a.c[i].v) || !is_finite(b.c[i].v)) return set_nan_lane(node, a, b, r, i);
  if (!is_finite(a.d[i]) || !is_finite(b.d[i]) || !is_finite(a.c[i].e) || !is_finite(b.c[i].e)) return false;
  // Numbers, one by one: a structure of them would go through memory. The rules are those of tracked.h and
  // running_error.h, where nothing is infinite and errors of 0 need no case of their own.
  const T xv = a.c[i].v, xe = a.c[i].e, yv = b.c[i].v, ye = b.c[i].e;
  const long double xd = a.d[i], yd = b.d[i];
  const auto x = std::fabs(static_cast<long double>(a.c[i].v)), y = std::fabs(static_cast<long double>(b.c[i].v));
  const bool multiplies = expr::info(node.op).propagation == expr::Propagation::bilinear;
  const T v = apply_plain<T>(expr::real_op(node.op), 0, xv, yv, yv);
  r.c[i].v = v;
  const auto size = std::fabs(static_cast<long double>(v));
  const T carried = multiplies ? std::fabs(xv) * ye + std::fabs(yv) * xe + xe * ye : xe + ye;
  r.c[i].e = carried + (std::fabs(v) * kUnit<T> + kLeastError<T>);
  const long double moved = multiplies ? x * yd + y * xd + xd * yd : xd + yd;
  const long double unit = multiplies ? size + moved : x + y;
  const long double d =
      moved + k * (running_detail::half_ulp_of_one(node.type) * unit + running_detail::half_least(node.type));
  r.d[i] = d;
  r.s[i] = apply_rounded(node.op, node.type, 0, a.s[i], b.s[i], 0);
  const long double greatest = greatest_finite(node.type);
  if (!(size + d <= greatest && std::isfinite(r.s[i]))) [[unlikely]] {
    // Beyond the type, but not beyond the reference's own numbers.
    if (!is_finite(r.c[i].v) || !is_finite(r.c[i].e) || !is_finite(r.d[i])) return false;
    if (multiplies && (std::isinf(a.s[i]) || std::isinf(b.s[i]))) return false;  // it may be times zero
    if (size + d > greatest) unsure |= size - d <= greatest ? kOverflows | kMayOverflow : kOverflows;
  }
  r.unsure[i] = unsure;
  return true;
}

}  // namespace trident::equiv
