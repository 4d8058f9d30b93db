// Ops that jump, one lane at a time. Where the correct value is so near to a step that rounding decides the side, the
// result is marked as unsure, and the reference makes no claim there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "jit/equiv/lanes.h"

namespace trident::equiv {

// Infinities and NaN are sorted out before any arithmetic: it would take hundreds of cycles (tracked.h).

/// Returns how near to a step the correct value may be for rounding to decide the side: a few roundings, and no farther
/// than the running error reaches, for beyond it the policy promises the correct side.
template <class N>
long double step_tolerance(expr::Type type, const Lanes<N>& a, std::size_t i) {
  const long double c = approximate(a.c[i]), e = error_of(a.c[i]);
  const bool knows_off = std::isfinite(a.s[i]) && is_finite(c) && is_finite(e), knows_reach = is_finite(a.d[i]);
  const auto of_roundings = [&]() -> long double {
    if (!knows_off) return std::fabs(class_of(a.s[i]) - class_of(c)) + class_of(e);
    return 8 * std::fabs(static_cast<long double>(a.s[i]) - c) + 16 * ulp_at(type, c) + 2 * e;
  };
  const auto of_reach = [&] { return knows_reach && is_finite(e) ? a.d[i] + 2 * e : class_of(a.d[i]) + class_of(e); };
  const long double roundings = of_roundings(), reach = of_reach();
  return std::isnan(roundings) || std::isnan(reach) ? roundings : std::min(roundings, reach);
}

/// Returns whether rounding decides on which side of `step` a lane is.
template <class N>
bool near_step(expr::Type type, const Lanes<N>& a, std::size_t i, long double step) {
  if (exactly(a, i)) return false;
  const long double c = approximate(a.c[i]);
  if (std::isnan(c)) return !std::isnan(a.s[i]);
  const long double tolerance = step_tolerance(type, a, i);
  if (!is_finite(tolerance)) return true;
  return is_finite(c) && !(std::fabs(c - step) > tolerance);
}

template <class N>
bool near_zero(expr::Type type, const Lanes<N>& a, std::size_t i) {
  return near_step(type, a, i, 0);
}

/// Returns whether rounding decides the sign of a zero: the correct value is 0, where products that underflowed give
/// -0.
template <class N>
bool rounding_signs_zero(const Lanes<N>& a, std::size_t i) {
  const long double c = approximate(a.c[i]);
  return c == 0 && a.s[i] == 0 && std::signbit(c) != std::signbit(a.s[i]);
}

/// Returns whether rounding decides on which side of zero a lane is, that of a zero's sign counted.
template <class N>
bool near_signed_zero(expr::Type type, const Lanes<N>& a, std::size_t i) {
  return near_zero(type, a, i) || rounding_signs_zero(a, i);
}

/// Returns whether a lane may be negative, as -0 is.
template <class N>
bool may_be_negative(expr::Type type, const Lanes<N>& a, std::size_t i) {
  const long double c = approximate(a.c[i]);
  return (c <= 0 && std::signbit(c)) || near_signed_zero(type, a, i);
}

/// Returns whether an operand is so near to its domain's edge that rounding decides whether the result is NaN.
template <class N>
[[gnu::always_inline]] inline bool near_edge(const expr::Node& node, const Lanes<N>& a, const Lanes<N>& b,
                                             std::size_t i) {
  const expr::Op op = node.op;
  const auto near_a = [&](long double edge) { return near_step(node.type, a, i, edge); };
  if (op == expr::Op::Recip) return near_signed_zero(node.type, a, i);
  if (op == expr::Op::Div) return near_signed_zero(node.type, b, i);
  if (op == expr::Op::Pow) return near_signed_zero(node.type, a, i) || (a.s[i] < 0 && !exactly(b, i));
  if (op == expr::Op::Atan2)
    return (near_signed_zero(node.type, a, i) && may_be_negative(node.type, b, i)) ||
           (approximate(a.c[i]) == 0 && rounding_signs_zero(b, i));
  switch (expr::info(op).domain) {
    case expr::Domain::all: return false;
    case expr::Domain::from_zero: return near_a(0);
    case expr::Domain::from_minus_one: return near_a(-1);
    case expr::Domain::within_one: return near_a(1) || near_a(-1);
    case expr::Domain::from_one: return near_a(1);
  }
  CHECK(false);
}

/// For zeros of both signs min and max may give either.
inline bool picks_a_zero(expr::Op op, double a, double b) {
  return (op == expr::Op::Min || op == expr::Op::Max) && a == 0 && b == 0 && std::signbit(a) != std::signbit(b);
}

/// Evaluates floor and the like: integers that jump where the operand meets an integer or (rounding) a half.
template <class N>
void round_lane(const expr::Node& node, const Lanes<N>& a, Lanes<N>& r, std::size_t i) {
  const long double c = approximate(a.c[i]);
  const bool halves = node.op == expr::Op::Round || node.op == expr::Op::Rint;
  const long double step = halves ? std::floor(c) + 0.5L : std::nearbyint(c);
  if (std::isfinite(c) && near_step(node.type, a, i, step)) {
    // Here the type holds integers only, so steps are as small as its rounding; deciding ops see steps.
    const bool all_integers = ulp_at(node.type, c) >= 0.5L;
    r.unsure[i] |= all_integers ? kMayBeNextInteger : kOpen;
    if (!all_integers) return set_exact(r.c[i], r.s[i]);
  }
  apply_to(node.op, 0, a.c[i], a.c[i], a.c[i], r.c[i]);
  const long double error = error_of(a.c[i]);  // an error that reaches a step adds one
  if (error > 0 && !(std::fabs(c - step) > error)) widen(r.c[i], error + 1);
}

/// fmod jumps by |b| where a is a multiple of b.
template <class N>
void fmod_lane(const expr::Node& node, const Lanes<N>& a, const Lanes<N>& b, Lanes<N>& r, std::size_t i) {
  const bool exact = exactly(a, i) && exactly(b, i);
  apply_to(node.op, 0, a.c[i], b.c[i], b.c[i], r.c[i]);
  if (exact) return;
  const long double rest = std::fabs(approximate(r.c[i]));
  const long double whole = std::fabs(approximate(b.c[i]));
  const long double slack =
      step_tolerance(node.type, a, i) + step_tolerance(node.type, b, i) * (1 + std::fabs(approximate(a.c[i])) / whole);
  if (!(rest > slack) || !(whole - rest > slack)) r.unsure[i] |= kOpen;
}

/// Evaluates an op that jumps.
template <class N>
void step_lane(const expr::Node& node, const Lanes<N>& a, const Lanes<N>& b, Lanes<N>& r, std::size_t i) {
  if (node.op == expr::Op::Fmod) {
    fmod_lane(node, a, b, r, i);
  } else if (node.op == expr::Op::Copysign || node.op == expr::Op::Sign) {
    const Lanes<N>& signed_by = node.op == expr::Op::Sign ? a : b;
    // The sign of a NaN is unspecified: machines may differ.
    if (near_signed_zero(node.type, signed_by, i) || std::isnan(signed_by.s[i])) r.unsure[i] |= kOpen;
    apply_to(node.op, 0, a.c[i], b.c[i], b.c[i], r.c[i]);
  } else {
    round_lane(node, a, r, i);
  }
}

/// Decides a comparison from the order of its operands.
inline bool comparison_holds(expr::Op op, bool is_less, bool is_equal, bool ordered) {
  // The checker has its own list: the optimiser decides comparisons of constants by the table of ops.
  if (op == expr::Op::Lt) return is_less;
  if (op == expr::Op::Le) return is_less || is_equal;
  if (op == expr::Op::Gt) return ordered && !is_less && !is_equal;
  if (op == expr::Op::Ge) return ordered && !is_less;
  return (op == expr::Op::Eq) == is_equal;
}

/// Returns whether two numbers are farther from each other than both tolerances together.
inline bool are_apart(long double a, long double b, long double of_a, long double of_b) {
  if (!is_finite(of_a) || !is_finite(of_b)) return false;
  if (!is_finite(a) || !is_finite(b)) return a != b;
  return std::fabs(a - b) > of_a + of_b;
}

/// Compares two lanes, floats or integers.
template <class N>
void compare_lane(expr::Op op, expr::Type type, const Lanes<N>& a, const Lanes<N>& b, Lanes<N>& r, std::size_t i) {
  if (!ir::is_float(type)) {
    r.si[i] = comparison_holds(op, a.si[i] < b.si[i], a.si[i] == b.si[i], true) ? -1 : 0;
    r.ci[i] = comparison_holds(op, a.ci[i] < b.ci[i], a.ci[i] == b.ci[i], true) ? -1 : 0;
    return;
  }
  const bool ordered_s = !std::isnan(a.s[i]) && !std::isnan(b.s[i]);
  const bool ordered_c = !std::isnan(approximate(a.c[i])) && !std::isnan(approximate(b.c[i]));
  r.si[i] = comparison_holds(op, a.s[i] < b.s[i], a.s[i] == b.s[i], ordered_s) ? -1 : 0;
  r.ci[i] = comparison_holds(op, ordered_c && less(a.c[i], b.c[i]), equal(a.c[i], b.c[i]), ordered_c) ? -1 : 0;
  if (ordered_s != ordered_c) r.unsure[i] |= kOpen;
  if (!ordered_s || !ordered_c || (exactly(a, i) && exactly(b, i))) return;
  if (!are_apart(approximate(a.c[i]), approximate(b.c[i]), step_tolerance(type, a, i), step_tolerance(type, b, i)))
    r.unsure[i] |= kOpen;
}

/// f32(x) of an f64 x is, by its meaning, the rounded value; it jumps at the middle between two floats.
template <class N>
void narrow_lane(const Lanes<N>& a, Lanes<N>& r, std::size_t i) {
  r.s[i] = static_cast<double>(static_cast<float>(a.s[i]));
  round_to_f32(a.c[i], r.c[i]);
  const long double s = a.s[i], c = approximate(a.c[i]);
  if (exactly(a, i) || (std::isnan(s) && std::isnan(c))) return;
  // A value beyond f64 is an infinity of f32 long before.
  constexpr long double kFarBeyond = 0x1p129L;
  const bool beyond = std::isinf(s) && c * std::copysign(1.0L, s) > kFarBeyond;
  if (beyond && error_of(a.c[i]) < std::fabs(c) / 4) return;
  const long double slack = step_tolerance(expr::Type::f64, a, i);
  if (static_cast<float>(c - slack) == static_cast<float>(c + slack)) return;
  r.unsure[i] |= kOpen;
  set_exact(r.c[i], r.s[i]);
}

/// Truncates a float, or asks whether it is not 0.
template <class N>
void cast_to_integer(expr::Type to, expr::Type from, const Lanes<N>& a, Lanes<N>& r, std::size_t i) {
  const long double c = approximate(a.c[i]);
  if (ir::is_mask(to)) {
    r.si[i] = a.s[i] != 0 ? -1 : 0;
    r.ci[i] = c != 0 ? -1 : 0;
    if (near_zero(from, a, i)) r.unsure[i] |= kOpen;
    return;
  }
  r.si[i] = truncate(to, static_cast<long double>(a.s[i]));
  r.ci[i] = truncate(to, c);
  // Every integer is a step, the ends of the range among them.
  if (std::isfinite(c) && near_step(from, a, i, std::nearbyint(c))) r.unsure[i] |= kOpen;
}

/// Converts a lane of type `from` to type `to`.
template <class N>
void cast_lane(expr::Type to, expr::Type from, const Lanes<N>& a, Lanes<N>& r, std::size_t i) {
  if (ir::is_float(from) && ir::is_float(to)) {
    if (to == expr::Type::f32 && from == expr::Type::f64) {
      narrow_lane(a, r, i);
    } else {
      r.s[i] = a.s[i];
      r.c[i] = a.c[i];
    }
  } else if (ir::is_float(from)) {
    cast_to_integer(to, from, a, r, i);
  } else if (ir::is_float(to)) {
    const bool truth = ir::is_mask(from);
    r.s[i] = int_to_float(to, truth ? -a.si[i] : a.si[i]);
    set_exact(r.c[i], int_to_float(to, truth ? -a.ci[i] : a.ci[i]));
  } else {
    r.si[i] = cast_integer(to, from, a.si[i]);
    r.ci[i] = cast_integer(to, from, a.ci[i]);
  }
}

}  // namespace trident::equiv
