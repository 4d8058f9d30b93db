// The running errors (running_error.h) of one node, lane by lane, from the lanes of its operands. Where the reference
// cannot decide a step (kOpen, found at this node: `opens`), both sides are in the interval, however small the errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

#include "jit/equiv/lanes.h"

namespace trident::equiv {

template <class N>
Around around(const Lanes<N>& lanes, std::size_t i) {
  return {approximate(lanes.c[i]), lanes.d[i]};
}

/// Returns whether every evaluation gives this very value: it is exact, and no function is on the way.
template <class N>
bool surely_exact(const Lanes<N>& a, std::size_t i) {
  return exactly(a, i) && (a.unsure[i] & kApproximate) == 0;
}

/// Returns whether an op gives other bits in a kernel than correct rounding does.
[[gnu::always_inline]] inline bool is_approximate(const expr::Node& node) {
  if (node.op == expr::Op::Powi) return node.imm != 1 && node.imm != 2;
  return expr::info(node.op).rounding == expr::Rounding::approximate;
}

/// Returns whether the interval of an operand reaches an end of the op's domain.
template <class N>
[[gnu::always_inline]] inline bool reaches_edge(expr::Domain domain, const Lanes<N>& a, std::size_t i) {
  const Around x = around(a, i);
  const auto reaches = [&](long double edge) { return std::fabs(x.v - edge) <= x.d; };
  switch (domain) {
    case expr::Domain::all: return false;
    case expr::Domain::from_zero: return reaches(0);
    case expr::Domain::from_minus_one: return reaches(-1);
    case expr::Domain::within_one: return reaches(1) || reaches(-1);
    case expr::Domain::from_one: return reaches(1);
  }
  CHECK(false);
}

/// Returns whether the intervals of a power's operands hold bases below 0 whose power is NaN, and others. An exponent
/// that is surely an integer has no such edge.
template <class N>
bool reaches_edge_of_power(const Lanes<N>& a, const Lanes<N>& b, std::size_t i) {
  const Around base = around(a, i), exponent = around(b, i);
  if (surely_exact(b, i)) {
    const bool is_integer = exponent.v == std::nearbyint(exponent.v);
    return !is_integer && !surely_exact(a, i) && std::fabs(base.v) <= base.d;
  }
  return base.v - base.d < 0;
}

/// Returns whether rounding decides if a product is of an infinity and 0: then it is NaN, else an infinity.
template <class N>
bool may_be_infinity_times_zero(const Lanes<N>& a, const Lanes<N>& b, std::size_t i) {
  const auto rounds_to_zero = [i](const Lanes<N>& lanes) {
    const Around x = around(lanes, i);
    return !surely_exact(lanes, i) && !std::isnan(x.v) && std::fabs(x.v) <= x.d;
  };
  return (std::isinf(a.s[i]) && rounds_to_zero(b)) || (std::isinf(b.s[i]) && rounds_to_zero(a));
}

/// Returns whether finite operands give an infinity: at a pole, or because even the reference's numbers end before it.
inline bool leaves_the_numbers(const Around& a, const Around& b, const Around& c, long double result) {
  return std::isinf(result) && std::isfinite(a.v) && std::isfinite(b.v) && std::isfinite(c.v);
}

/// Returns whether a value is a zero that may have either sign, as max(0, -0).
template <class N>
bool is_either_zero(const Lanes<N>& a, std::size_t i) {
  return (a.unsure[i] & kOpen) != 0 && approximate(a.c[i]) == 0;
}

/// Returns how far apart the results are that the signs of an operand's zero give. Sets the bit of an infinity's sign.
template <class N>
long double apart_by_zeros(expr::Op op, const Lanes<N>& a, const Lanes<N>& b, Lanes<N>& r, std::size_t i) {
  const bool first = is_either_zero(a, i) && (expr::reads_zero_sign_of_first(op) || op == expr::Op::Powi);
  const bool second = is_either_zero(b, i) && expr::reads_zero_sign_of_second(op);
  if (!first && !second) return 0;
  const long double result = std::fabs(approximate(r.c[i]));
  if (std::isinf(result)) r.unsure[i] |= kEitherInfinity;
  if (!std::isfinite(result)) return 0;
  // The first zero's sign is the result's; the second's decides between 0 and pi where both are zeros.
  if (first || op != expr::Op::Atan2) return 2 * result;
  return approximate(a.c[i]) == 0 ? std::numbers::pi_v<long double> : 0;
}

/// Returns whether an operand is an infinity that may have either sign.
template <class N>
bool is_either_infinity(const Lanes<N>& a, std::size_t i) {
  return (a.unsure[i] & kEitherInfinity) != 0 && std::isinf(approximate(a.c[i]));
}

/// Returns whether rounding decides if a quotient is of 0 and 0: then it is NaN.
template <class N>
bool may_be_zero_by_zero(const Lanes<N>& a, const Lanes<N>& b, std::size_t i) {
  const auto reaches_zero = [i](const Lanes<N>& lanes) {
    const Around x = around(lanes, i);
    return !std::isnan(x.v) && std::fabs(x.v) <= x.d;
  };
  return reaches_zero(a) && reaches_zero(b) && !(surely_exact(a, i) && surely_exact(b, i));
}

/// Returns whether a function's error may make a divisor zero, so that an evaluation has an infinity for the quotient.
/// The base of a negative power is a divisor.
template <class N>
bool may_divide_by_zero(const expr::Node& node, const Lanes<N>& a, const Lanes<N>& b, std::size_t i) {
  const Lanes<N>& divisor = node.op == expr::Op::Div ? b : a;
  if ((divisor.unsure[i] & kApproximate) == 0) return false;
  const bool is_negative_power = (node.op == expr::Op::Powi && static_cast<std::int64_t>(node.imm) < 0) ||
                                 (node.op == expr::Op::Pow && approximate(b.c[i]) < b.d[i]);
  const bool divides = node.op == expr::Op::Div || node.op == expr::Op::Recip || is_negative_power;
  const Around x = around(divisor, i);
  return divides && !std::isnan(x.v) && std::fabs(x.v) <= x.d;
}

/// Returns whether a divisor is zero in the source's own evaluation alone, because of an overflow before, and functions
/// move what it divides, so that this may be zero there, too, or of either sign.
template <class N>
bool divides_by_lost_number(const Lanes<N>& a, const Lanes<N>& b, std::size_t i) {
  const bool lost = b.s[i] == 0 && approximate(b.c[i]) != 0 && (b.unsure[i] & kOverflows) != 0;
  if (!lost || (a.unsure[i] & kApproximate) == 0) return false;
  const Around x = around(a, i);
  return (a.unsure[i] & kOverflows) != 0 || std::fabs(x.v) <= x.d;
}

/// Returns whether an operand is an infinity in whose place an evaluation may have a number, as 1/(x - y) where x is y.
template <class N>
bool may_be_no_infinity(const Lanes<N>& a, std::size_t i) {
  return std::isinf(approximate(a.c[i])) && a.d[i] > 0 && !surely_exact(a, i);
}

/// Returns whether a result is NaN by such an infinity: inf - inf, inf/inf or sin(inf). It may be a number.
template <class N>
bool is_nan_by_unsure_infinity(const Lanes<N>& a, const Lanes<N>& b, const Lanes<N>& c, std::size_t i,
                               long double result) {
  const bool of_nan =
      std::isnan(approximate(a.c[i])) || std::isnan(approximate(b.c[i])) || std::isnan(approximate(c.c[i]));
  if (!std::isnan(result) || of_nan) return false;
  return may_be_no_infinity(a, i) || may_be_no_infinity(b, i) || may_be_no_infinity(c, i);
}

/// Returns whether a function's value is beyond even the reference's numbers at an end of its argument's interval, as
/// e^x of a great difference whose sign rounding decides. `anywhere`: an argument that may be anything counts.
inline bool overflows_at_an_end(expr::RealOp op, std::int64_t exponent, const Around& x, long double result,
                                bool anywhere) {
  const auto overflows = [&](long double end) {
    return (std::isfinite(end) || anywhere) && std::isinf(apply_plain<long double>(op, exponent, end, 0, 0));
  };
  return std::isfinite(result) && std::isfinite(x.v) && (overflows(x.v + x.d) || overflows(x.v - x.d));
}

/// Notes values that are beyond their type, or may be. Infinities of the reals are none of these.
template <class N>
[[gnu::always_inline]] inline void note_overflow(expr::Type type, Lanes<N>& r, std::size_t i) {
  const long double size = std::fabs(approximate(r.c[i])), greatest = greatest_finite(type);
  if (!is_finite(size) || !is_finite(r.d[i]) || !(size + r.d[i] > greatest)) return;
  r.unsure[i] |= kOverflows;
  if (size - r.d[i] <= greatest) r.unsure[i] |= kMayOverflow;
}

/// Returns whether the result is a number, any of those that the op may choose, where operands that may be NaN are.
template <class N>
bool hides_nan(expr::RealOp op, std::int64_t exponent, const Lanes<N>& a, const Lanes<N>& b, const Lanes<N>& c,
               std::size_t i) {
  const auto value = [i](const Lanes<N>& lanes) {
    const bool may_be_nan = (lanes.unsure[i] & kMayBeNan) != 0;
    return may_be_nan ? std::numeric_limits<long double>::quiet_NaN() : approximate(lanes.c[i]);
  };
  return !std::isnan(apply_plain<long double>(op, exponent, value(a), value(b), value(c)));
}

/// Jumps that a step op may make where the reference is open: to the next value on the other side.
template <class N>
long double jump_of(expr::RealOp op, const Lanes<N>& a, const Lanes<N>& b, std::size_t i) {
  if (op == expr::RealOp::Copysign) return 2 * std::fabs(approximate(a.c[i]));
  if (op == expr::RealOp::Fmod) return std::fabs(approximate(b.c[i])) + b.d[i];
  return op == expr::RealOp::Sign ? 2 : 1;
}

/// Sets the running error of a float op that is no comparison, cast or reduction.
template <class N>
[[gnu::always_inline]] inline void float_error(const expr::Node& node, const Lanes<N>& a, const Lanes<N>& b,
                                               const Lanes<N>& c, Lanes<N>& r, std::size_t i, bool opens,
                                               long double k) {
  const expr::RealOp op = expr::real_op(node.op);
  const auto exponent = static_cast<std::int64_t>(node.imm);
  const long double result = approximate(r.c[i]);
  const Around x = around(a, i), y = around(b, i);
  const bool step = expr::is_step(node.op);
  const bool jumps = step || node.op == expr::Op::Atan2;  // by a turn, across its cut
  const bool decided = jumps && !opens && surely_exact(a, i) && surely_exact(b, i);
  long double d = decided ? 0 : carried(op, exponent, x, y, around(c, i), result);
  if (step && opens) d = std::max(d, jump_of(op, a, b, i) + a.d[i]);
  if (step && d > a.d[i]) r.unsure[i] |= kEitherSide;
  if (const long double apart = apart_by_zeros(node.op, a, b, r, i); apart > 0) d += apart, r.unsure[i] |= kEitherSide;
  if (is_finite(result) && is_finite(d)) d += k * unit_error(node.op, node.type, exponent, x, y, std::fabs(result) + d);
  r.d[i] = d >= 0 ? d : std::numeric_limits<long double>::infinity();
  if (is_approximate(node)) r.unsure[i] |= kApproximate;
  if (!surely_exact(a, i) && reaches_edge(expr::info(node.op).domain, a, i)) r.unsure[i] |= kMayBeNan;
  if (node.op == expr::Op::Pow && reaches_edge_of_power(a, b, i)) r.unsure[i] |= kMayBeNan;
  const bool multiplies = node.op == expr::Op::Mul || node.op == expr::Op::Fma;
  if (multiplies && may_be_infinity_times_zero(a, b, i)) r.unsure[i] |= kMayBeNan;
  if (node.op == expr::Op::Div && may_be_zero_by_zero(a, b, i)) r.unsure[i] |= kMayBeNan;
  if (node.op == expr::Op::Div && divides_by_lost_number(a, b, i)) r.unsure[i] |= kMayBeNan | kEitherInfinity;
  if (is_nan_by_unsure_infinity(a, b, c, i, result)) r.unsure[i] |= kMayBeNan;
  const bool may_be_nan = ((a.unsure[i] | b.unsure[i] | c.unsure[i]) & kMayBeNan) != 0;
  if (may_be_nan && hides_nan(op, exponent, a, b, c, i)) r.unsure[i] |= kMayOverflow;
  note_overflow(node.type, r, i);
  // Correctly rounded operations give the kernel as written its strict values; with functions its own errors decide.
  const bool by_operands = ((a.unsure[i] | b.unsure[i] | c.unsure[i]) & kApproximate) != 0;
  if (by_operands && multiplies && may_be_infinity_times_zero(a, b, i)) r.unsure[i] |= kEitherInfinity;
  if (is_either_infinity(a, i) || is_either_infinity(b, i) || is_either_infinity(c, i))
    r.unsure[i] |= std::isinf(result) && expr::info(node.op).arity > 1 ? kMayBeNan : kUnknownSize;
  const bool leaves = (by_operands || is_approximate(node)) && leaves_the_numbers(x, y, around(c, i), result);
  if (leaves) r.unsure[i] |= kOverflows;
  if (!std::isinf(r.d[i])) return;
  if (leaves || may_divide_by_zero(node, a, b, i)) r.unsure[i] |= kMayOverflow;
  const bool power = node.op == expr::Op::Pow && by_operands;
  if (power || (expr::info(node.op).arity == 1 && overflows_at_an_end(op, exponent, x, result, by_operands)))
    r.unsure[i] |= kOverflows | kMayOverflow;
}

/// Returns whether a comparison turns out otherwise if an operand that may be NaN is: or is none, where it is NaN.
template <class N>
bool nan_decides(expr::Op op, const Lanes<N>& a, const Lanes<N>& b, const Lanes<N>& r, std::size_t i) {
  const auto surely_nan = [i](const Lanes<N>& lanes) {
    return std::isnan(approximate(lanes.c[i])) && (lanes.unsure[i] & kMayBeNan) == 0;
  };
  if (((a.unsure[i] | b.unsure[i]) & kMayBeNan) == 0 || surely_nan(a) || surely_nan(b)) return false;
  const bool is_nan = std::isnan(approximate(a.c[i])) || std::isnan(approximate(b.c[i]));
  const std::int64_t by_nan = op == expr::Op::Ne ? -1 : 0;
  return is_nan || r.ci[i] != by_nan;
}

/// Returns whether two intervals meet that are not both points.
inline bool meet(const Around& a, const Around& b) {
  const bool numbers = is_finite(a.v) && is_finite(b.v);
  if (is_finite(a.d) && is_finite(b.d)) {
    const long double reach = a.d + b.d;
    return reach > 0 && numbers && std::fabs(a.v - b.v) <= reach;
  }
  if (std::isnan(a.d) || std::isnan(b.d)) return true;
  return numbers || (!std::isnan(a.v) && !std::isnan(b.v) && a.v != b.v);
}

/// Sets the interval of a comparison.
template <class N>
void comparison_error(expr::Op op, expr::Type type, const Lanes<N>& a, const Lanes<N>& b, Lanes<N>& r, std::size_t i,
                      bool opens) {
  bool either = opens;
  if (!ir::is_float(type)) {
    either = either || !a.whole[i].sure() || !b.whole[i].sure();
  } else if (!surely_exact(a, i) || !surely_exact(b, i)) {
    either = either || meet(around(a, i), around(b, i)) || nan_decides(op, a, b, r, i);
  }
  r.whole[i] = either ? Whole{-1, 0} : Whole{r.ci[i], r.ci[i]};
  if (either) r.unsure[i] |= kEitherSide;
}

/// Sets the running error of a selection: that of the branch taken, or of both where either may be.
template <class N>
void selection_error(expr::Type type, const Lanes<N>& condition, const Lanes<N>& b, const Lanes<N>& c, Lanes<N>& r,
                     std::size_t i) {
  const bool takes_b = condition.ci[i] != 0;
  const Lanes<N>& taken = takes_b ? b : c;
  const Lanes<N>& other = takes_b ? c : b;
  const bool sure = condition.whole[i].sure();
  if (!ir::is_float(type)) {
    r.whole[i] = sure ? taken.whole[i] : hull(taken.whole[i], other.whole[i]);
  } else {
    r.d[i] = taken.d[i];
    const auto apart = [&] {
      const bool numbers = is_finite(approximate(taken.c[i])) && is_finite(approximate(other.c[i]));
      if (!numbers || !is_finite(other.d[i])) return std::numeric_limits<long double>::infinity();
      return std::fabs(approximate(taken.c[i]) - approximate(other.c[i])) + other.d[i];
    };
    const bool equal = approximate(taken.c[i]) == approximate(other.c[i]) && other.d[i] == 0;
    if (!sure && !equal) r.d[i] = std::max(r.d[i], apart());
  }
  if (!sure) r.unsure[i] = static_cast<std::uint8_t>(r.unsure[i] | kEitherSide | other.unsure[i]);
}

/// Truncates the ends of an interval of floats.
inline Whole truncated(expr::Type to, const Around& a) {
  if (!(a.d < std::numeric_limits<long double>::infinity())) return any_of(to);
  const std::int64_t lo = truncate(to, a.v - a.d), hi = truncate(to, a.v + a.d), middle = truncate(to, a.v);
  return {std::min({lo, hi, middle}), std::max({lo, hi, middle})};  // out of range becomes the least integer
}

/// Sets the interval of a float cast to an integer or a mask.
template <class N>
void integer_error(expr::Type to, const Lanes<N>& a, Lanes<N>& r, std::size_t i, bool opens) {
  const Around x = around(a, i);
  const std::int64_t is = r.ci[i];
  const bool may_be_nan = (a.unsure[i] & kMayBeNan) != 0;
  Whole whole{is, is};
  if (ir::is_mask(to)) {
    const bool reaches_zero = !surely_exact(a, i) && x.d > 0 && std::fabs(x.v) <= x.d;
    if (opens || reaches_zero || (may_be_nan && (std::isnan(x.v) || is == 0))) whole = {-1, 0};
  } else if (may_be_nan) {
    const std::int64_t of_nan = truncate(to, std::numeric_limits<long double>::quiet_NaN());
    whole = std::isnan(x.v) ? any_of(to) : hull(hull(whole, truncated(to, x)), {of_nan, of_nan});
  } else if (!surely_exact(a, i) && !std::isnan(x.v)) {
    whole = hull(whole, truncated(to, x));
    const Whole all = any_of(to);
    if (opens) whole = hull(whole, truncated(to, {x.v, x.d + 2 * error_of(a.c[i])}));
    // Beyond the range is the least integer, far from its neighbour.
    if (opens && (is == all.hi || is == all.lo)) whole = all;
  } else if (opens) {
    whole = any_of(to);
  }
  r.whole[i] = whole;
  if (!whole.sure()) r.unsure[i] |= kEitherSide;
}

/// Sets the running error of f32(x) of an f64 x: a step that rounds.
template <class N>
void narrowing_error(const Lanes<N>& a, Lanes<N>& r, std::size_t i, bool opens) {
  const Around x = around(a, i);
  const long double result = approximate(r.c[i]);
  r.d[i] = 0;
  if (std::isnan(result) || (surely_exact(a, i) && !opens)) return;
  if (x.d > 0 || opens) {
    const long double lo = static_cast<float>(x.v - x.d), hi = static_cast<float>(x.v + x.d);
    const long double least = opens ? ulp_at(expr::Type::f32, result) : 0;
    if (std::isinf(lo) != std::isinf(hi)) r.unsure[i] |= kMayOverflow;
    const long double d = lo == hi && lo == result ? 0 : std::max(hi - result, result - lo);
    r.d[i] = d >= 0 ? std::max(d, least) : std::numeric_limits<long double>::infinity();
  }
  if (r.d[i] > 0) r.unsure[i] |= kEitherSide;
  note_overflow(expr::Type::f32, r, i);
}

/// Sets the running error of a cast; `opens`: the reference cannot decide its step.
template <class N>
void cast_error(expr::Type to, expr::Type from, const Lanes<N>& a, Lanes<N>& r, std::size_t i, bool opens) {
  if (ir::is_float(from) && ir::is_float(to)) {
    const bool narrows = to == expr::Type::f32 && from == expr::Type::f64;
    if (narrows) return narrowing_error(a, r, i, opens);
    r.d[i] = a.d[i];
  } else if (ir::is_float(from)) {
    integer_error(to, a, r, i, opens);
  } else if (ir::is_float(to)) {
    const bool truth = ir::is_mask(from);
    const long double lo = int_to_float(to, truth ? -a.whole[i].hi : a.whole[i].lo);
    const long double hi = int_to_float(to, truth ? -a.whole[i].lo : a.whole[i].hi);
    const long double result = approximate(r.c[i]);
    r.d[i] = std::max(hi - result, result - lo);
  } else if (a.whole[i].sure()) {
    r.whole[i] = {r.ci[i], r.ci[i]};
  } else {
    const Whole ends{cast_integer(to, from, a.whole[i].lo), cast_integer(to, from, a.whole[i].hi)};
    const bool widens = ir::bytes_of(to) >= ir::bytes_of(from) && !ir::is_mask(to) && !ir::is_mask(from);
    r.whole[i] = widens ? ends : any_of(to);
  }
}

}  // namespace trident::equiv
