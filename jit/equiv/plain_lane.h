// Sums and products of ordinary numbers, one lane at a time: most of the work of checks. Gives the very values that the
// general way gives (evaluator.h), with each operand loaded once and nothing asked that cannot be.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "jit/equiv/lanes.h"

namespace trident::equiv {

/// Returns whether lanes of the op may be plain: it is a sum, a difference or a product of two.
constexpr bool can_be_plain(expr::Op op) {
  const expr::OpInfo& row = expr::info(op);
  const bool linear = row.propagation == expr::Propagation::additive || row.propagation == expr::Propagation::bilinear;
  return linear && row.arity == 2 && row.rounding == expr::Rounding::correct && row.is_real;
}

/// Computes a lane of such an op. Returns false, with the lane unset, where anything is infinite, may be NaN, or may
/// overflow.
template <class T>
[[gnu::always_inline]] inline bool set_plain_lane(const expr::Node& node, const Lanes<Tracked<T>>& a,
                                                  const Lanes<Tracked<T>>& b, Lanes<Tracked<T>>& r, std::size_t i,
                                                  long double k) {
  const auto unsure = static_cast<std::uint8_t>(a.unsure[i] | b.unsure[i]);
  if ((unsure & kMayBeNan) != 0) return false;
  // An infinity or NaN among these makes the sum of size and d infinite or NaN below; it is much quicker to ask first.
  if (!is_finite(a.c[i].v) || !is_finite(b.c[i].v) || !is_finite(a.d[i]) || !is_finite(b.d[i])) return false;
  if (!is_finite(a.c[i].e) || !is_finite(b.c[i].e)) return false;
  const Tracked<T> x{a.c[i].v, a.c[i].e}, y{b.c[i].v, b.c[i].e};  // a copy as a whole would go through memory
  const Around near_x{static_cast<long double>(x.v), a.d[i]}, near_y{static_cast<long double>(y.v), b.d[i]};
  const Tracked<T> value = apply<T, true>(node.op, 0, x, y, y);
  const double strict = apply_rounded(node.op, node.type, 0, a.s[i], b.s[i], 0);
  const bool multiplies = expr::info(node.op).propagation == expr::Propagation::bilinear;
  const auto size = std::fabs(static_cast<long double>(value.v));
  const long double moved = multiplies
                                ? std::fabs(near_x.v) * near_y.d + std::fabs(near_y.v) * near_x.d + near_x.d * near_y.d
                                : near_x.d + near_y.d;
  const long double d = moved + k * unit_error(node.op, node.type, 0, near_x, near_y, size + moved);
  const bool plain = size + d <= greatest_finite(node.type) && std::isfinite(strict);
  if (!plain) return false;
  r.s[i] = strict, r.c[i].v = value.v, r.c[i].e = value.e, r.d[i] = d, r.unsure[i] = unsure;
  return true;
}

}  // namespace trident::equiv
