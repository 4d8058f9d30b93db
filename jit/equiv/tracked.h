// Floating-point values that carry a bound of their own error: the quick path to the correct value of an expression.
// T is double for f32 expressions and long double (64-bit significand on x86-64) for f64. A bound that grows too large
// (cancellation, the edge of a domain) is not trusted: reference.cpp then asks Big.
//
// Infinities and NaN are treated apart: for each operation of long double on one of them x87 takes hundreds of cycles,
// and unbounded expressions have many. What follows from them depends on signs and zeros alone, so it is computed in
// double with 1 for every other number.
//
// Rules: |true - v| <= e. Every op adds its own rounding (half a unit; kFunctionUnits for libm, whose documented errors
// are at most 5) to the effect of its operands' errors. Bounds on derivatives hold over the operand's whole interval as
// long as the guard beside them does; where it fails the bound is infinite.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "jit/expr/expr.h"

namespace trident::equiv {

template <class T>
struct Tracked {
  T v = 0;
  T e = 0;
};

template <class T>
inline constexpr T kUnit = std::numeric_limits<T>::epsilon() / 2;
/// Slack added to every rounding, for results that are denormal. It and its products are not denormal: with denormal
/// operands x87 takes hundreds of cycles.
template <class T>
inline constexpr T kLeastError = std::numeric_limits<T>::min() * (1 << 22);
/// Error allowed to a libm function, in units: three times the worst that glibc documents.
inline constexpr int kFunctionUnits = 16;

/// Returns whether a number is neither infinite nor NaN, by its exponent's bits where it has 64 bits of its own:
/// comparisons of NaN are among the slow operations.
inline bool is_finite(const long double& x) {
  if constexpr (LDBL_MANT_DIG == 64) {
    constexpr std::uint16_t kExponent = 0x7FFF;
    std::uint16_t top = 0;
    std::memcpy(&top, reinterpret_cast<const char*>(&x) + 8, sizeof top);
    return (top & kExponent) != kExponent;
  } else {
    return std::isfinite(x);
  }
}
inline bool is_finite(const double& x) {
  return std::isfinite(x);
}

/// Returns a number that stands for all of the same sign in operations on infinities and NaN.
inline double class_of(const long double& x) {
  if (!is_finite(x)) return static_cast<double>(x);
  return std::copysign(x == 0 ? 0.0 : 1.0, static_cast<double>(x));
}

template <class T>
T reciprocal_sqrt(T x) {
  return T(1) / std::sqrt(x);
}

/// Computes x^n for n >= 0 by squares: within n - 1 units, unless it is denormal.
template <class T>
T power_by_squares(T x, std::uint64_t n) {
  T power = 1;
  for (T square = x; n != 0; square = n > 1 ? square * square : square, n /= 2)
    if (n % 2 != 0) power *= square;
  return power;
}

/// Computes x^n for integer n within kFunctionUnits: small powers by products, which take a tenth of the time of pow.
/// It is within a few units for every exponent that fits.
template <class T>
T integer_power(T x, std::int64_t n) {
  constexpr std::int64_t kMost = kFunctionUnits - 1;  // n - 1 units, and one of a division
  if (n > kMost || n < -kMost) return std::pow(x, static_cast<T>(n));
  if (n >= 0) return power_by_squares(x, static_cast<std::uint64_t>(n));
  const T power = power_by_squares(x, static_cast<std::uint64_t>(-n));
  const bool normal = std::fabs(power) >= std::numeric_limits<T>::min() && std::isfinite(power);
  return normal ? T(1) / power : std::pow(x, static_cast<T>(n));
}

/// Computes e^x. The library takes long where that overflows or underflows.
template <class T>
T exponential(T x) {
  constexpr T kFar = (std::numeric_limits<T>::max_exponent + std::numeric_limits<T>::digits) * T(0.6932);
  if (!(std::fabs(x) > kFar)) return std::exp(x);
  return x > 0 ? std::numeric_limits<T>::infinity() : T(0);
}

template <class T>
T sign_of(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x;
}

/// Evaluates the op on plain values: libm of the carrier. The column Value of ops.def is not used here on purpose: the
/// optimiser folds constants by it, and what it gets wrong must not look right to the checker.
template <class T>
[[gnu::always_inline]] inline T apply_plain(expr::RealOp op, std::int64_t exponent, T a, T b, T c) {
  using expr::RealOp;
  switch (op) {
    case RealOp::Add: return a + b;
    case RealOp::Sub: return a - b;
    case RealOp::Mul: return a * b;
    case RealOp::Div: return a / b;
    case RealOp::Neg: return -a;
    case RealOp::Abs: return std::fabs(a);
    case RealOp::Min: return std::fmin(a, b);
    case RealOp::Max: return std::fmax(a, b);
    case RealOp::Fma: return std::fma(a, b, c);
    case RealOp::Recip: return T(1) / a;
    case RealOp::Sqrt: return std::sqrt(a);
    case RealOp::Rsqrt: return reciprocal_sqrt(a);
    case RealOp::Cbrt: return std::cbrt(a);
    case RealOp::Hypot: return std::hypot(a, b);
    case RealOp::Exp: return exponential(a);
    case RealOp::Exp2: return std::exp2(a);
    case RealOp::Expm1: return std::expm1(a);
    case RealOp::Log: return std::log(a);
    case RealOp::Log2: return std::log2(a);
    case RealOp::Log10: return std::log10(a);
    case RealOp::Log1p: return std::log1p(a);
    case RealOp::Pow: return std::pow(a, b);
    case RealOp::Powi: return integer_power(a, exponent);
    case RealOp::Sin: return std::sin(a);
    case RealOp::Cos: return std::cos(a);
    case RealOp::Tan: return std::tan(a);
    case RealOp::Asin: return std::asin(a);
    case RealOp::Acos: return std::acos(a);
    case RealOp::Atan: return std::atan(a);
    case RealOp::Atan2: return std::atan2(a, b);
    case RealOp::Sinh: return std::sinh(a);
    case RealOp::Cosh: return std::cosh(a);
    case RealOp::Tanh: return std::tanh(a);
    case RealOp::Asinh: return std::asinh(a);
    case RealOp::Acosh: return std::acosh(a);
    case RealOp::Atanh: return std::atanh(a);
    case RealOp::Erf: return std::erf(a);
    case RealOp::Erfc: return std::erfc(a);
    case RealOp::Floor: return std::floor(a);
    case RealOp::Ceil: return std::ceil(a);
    case RealOp::Round: return std::round(a);
    case RealOp::Rint: return std::nearbyint(a);
    case RealOp::Trunc: return std::trunc(a);
    case RealOp::Fmod: return std::fmod(a, b);
    case RealOp::Copysign: return std::isnan(b) ? std::fabs(a) : std::copysign(a, b);
    case RealOp::Sign: return sign_of(a);
  }
  CHECK(false);
}

/// Returns whether the op is arithmetic that the processor rounds correctly: its infinities and NaN follow from those
/// of its operands, their signs and zeros.
constexpr bool is_basic(expr::Op op) {
  const expr::OpInfo& row = expr::info(op);
  if (!row.is_real || row.rounding != expr::Rounding::correct) return false;
  using enum expr::Propagation;
  return row.propagation == additive || row.propagation == bilinear || row.propagation == quotient ||
         row.propagation == relative;
}
/// Returns whether the op of NaN is NaN.
constexpr bool keeps_nan(expr::Op op) {
  return expr::info(op).arity == 1 && expr::info(op).propagation != expr::Propagation::base_and_exponent;
}

/// Evaluates the op on plain values, with its special values in double.
template <class T>
[[gnu::always_inline]] inline T apply_classes(expr::RealOp op, std::int64_t exponent, const T& a, const T& b,
                                              const T& c) {
  if constexpr (std::is_same_v<T, long double>) {
    const auto row = static_cast<expr::Op>(op);
    const int arity = expr::info(row).arity;
    if (keeps_nan(row) && std::isnan(a)) return a;
    const bool finite = !is_basic(row) || (is_finite(a) && (arity < 2 || is_finite(b)) && (arity < 3 || is_finite(c)));
    if (!finite) return apply_plain<double>(op, exponent, class_of(a), class_of(b), class_of(c));
  }
  return apply_plain<T>(op, exponent, a, b, c);
}

/// Returns how many units the op's own rounding costs: none for exact ops.
constexpr int units_of(expr::Op op) {
  switch (expr::info(op).rounding) {
    case expr::Rounding::exact: return 0;
    case expr::Rounding::correct: return 1;
    case expr::Rounding::approximate: return kFunctionUnits;
  }
  CHECK(false);
}

namespace tracked_detail {

template <class T>
inline constexpr T kInfinite = std::numeric_limits<T>::infinity();

// Bounds e^r - 1, the effect of a relative change `r` of an argument with exp-like growth.
template <class T>
T growth(T r) {
  return r <= T(0.5) ? T(1.3) * r : kInfinite<T>;
}

// Bounds the error of a power whose exponent has an error of its own, by that of its logarithm.
template <class T>
T of_power(const Tracked<T>& a, T exponent, T exponent_error, T v) {
  const T x = std::fabs(a.v);
  if (a.e == 0 && exponent_error == 0) return 0;
  if (!(x > 4 * a.e) || (a.v < 0 && exponent_error > 0)) return kInfinite<T>;
  const T base_change = T(1.34) * a.e / x;
  // The logarithm takes longer than all else; an exact exponent has no use for it.
  const bool exact = exponent_error == 0 && is_finite(x);
  const T by_exponent = exact ? T(0) : (std::fabs(std::log(x)) + base_change) * exponent_error;
  return std::fabs(v) * growth(exponent * base_change + by_exponent);
}

// Returns whether a result that is NaN is surely that.
template <class T>
bool is_surely_nan(expr::Op op, const Tracked<T>& a, const Tracked<T>& b, const Tracked<T>& c) {
  const auto surely_nan = [](const Tracked<T>& n) { return std::isnan(n.v) && n.e == 0; };
  if (surely_nan(a) || surely_nan(b) || surely_nan(c) || (a.e == 0 && b.e == 0 && c.e == 0)) return true;
  switch (expr::info(op).domain) {
    case expr::Domain::all: return op == expr::Op::Pow && a.v + a.e < 0 && b.e == 0;
    case expr::Domain::from_zero: return a.v + a.e < 0;
    case expr::Domain::from_minus_one: return a.v + a.e < -1;
    case expr::Domain::within_one: return std::fabs(a.v) - a.e > 1;
    case expr::Domain::from_one: return a.v + a.e < 1;
  }
  CHECK(false);
}

// Where the intervals do not meet, one operand is the result. What may be a number in place of NaN may be any.
template <class T>
T of_extreme(const Tracked<T>& a, const Tracked<T>& b, T v) {
  if ((std::isnan(a.v) && a.e != 0) || (std::isnan(b.v) && b.e != 0)) return kInfinite<T>;
  const bool known = is_finite(a.e) && is_finite(b.e), numbers = is_finite(a.v) && is_finite(b.v);
  const bool apart = numbers ? std::fabs(a.v - b.v) > a.e + b.e : !std::isnan(a.v) && !std::isnan(b.v) && a.v != b.v;
  if (known && apart) return v == a.v ? a.e : b.e;
  return std::fmax(a.e, b.e);
}

template <class T>
T of_angle(const Tracked<T>& a, const Tracked<T>& b, T factor) {
  const T radius = std::hypot(a.v, b.v);
  const bool across_the_cut = b.v <= b.e && std::fabs(a.v) <= a.e;
  return radius > 4 * (a.e + b.e) && !across_the_cut ? factor * (a.e + b.e) / radius : kInfinite<T>;
}

// Bounds the error by the values at the ends of the operand's interval, for a function that only rises or only falls.
// Where that is all but constant, its greatest slope says nothing: tanh of 1e20 is 1, however many units 1e20 is off.
template <class T>
T between_ends(expr::Op op, const Tracked<T>& a, T v) {
  const T reach = 2 * a.e + 4 * std::fabs(a.v) * kUnit<T>;  // the ends are rounded
  const T lo = apply_plain<T>(expr::real_op(op), 0, a.v - reach, T(0), T(0));
  const T hi = apply_plain<T>(expr::real_op(op), 0, a.v + reach, T(0), T(0));
  const T most = std::fmax(std::fabs(lo), std::fabs(hi));
  const T own = 2 * kFunctionUnits * (most * kUnit<T> + kLeastError<T>);
  const T error = std::fmax(std::fabs(hi - v), std::fabs(v - lo)) + own;
  return error >= 0 ? error : kInfinite<T>;
}

// Returns whether a function is bounded on a side, and only rises or only falls.
constexpr bool levels_off(const expr::OpInfo& row) {
  return (row.traits & expr::kSaturates) != 0 && row.course == expr::Course::Ends;
}

// Returns the error caused by the operands' errors. v is the computed result.
template <class T>
[[gnu::always_inline]] inline T propagate(expr::Op op, std::int64_t exponent, const Tracked<T>& a, const Tracked<T>& b,
                                          const Tracked<T>& c, T v) {
  using enum expr::Propagation;
  const expr::OpInfo& row = expr::info(op);
  const T k = static_cast<T>(row.factor);
  const T x = std::fabs(a.v);
  const T y = std::fabs(b.v);
  const T size = std::fabs(v);
  // The argument, or its distance to an end of the domain, is not zero, and known to 25 %.
  const auto known = [&a](T distance) { return distance > 4 * a.e; };
  // An operand of which nothing is known may be NaN.
  const auto is_wide = [&](T least) { return levels_off(row) && a.e > least && a.e < kInfinite<T>; };
  switch (row.propagation) {
    case flat: return 0;  // evaluator.h sees to it that the operand is sure to lie on one side
    case proportional: return is_wide(kUnit<T>) ? std::fmin(k * a.e, between_ends(op, a, v)) : k * a.e;
    case relative: return known(x) ? k * size * a.e / x : kInfinite<T>;
    case logarithmic: {
      const T distance = row.domain == expr::Domain::from_minus_one ? 1 + a.v : x;
      return known(distance) ? k * a.e / distance : kInfinite<T>;
    }
    case exponential: return is_wide(T(0.5)) ? between_ends(op, a, v) : size * growth(a.e);
    case shifted_exponential: return is_wide(T(0.5)) ? between_ends(op, a, v) : (size + 1) * growth(a.e);
    case root_at_one: {
      const T distance = row.domain == expr::Domain::from_one ? a.v - 1 : 1 - x;
      return known(distance) ? k * a.e / std::sqrt(distance * (1 + x)) : kInfinite<T>;
    }
    case pole_at_one: return known(1 - x) ? k * a.e / ((1 - x) * (1 + x)) : kInfinite<T>;
    case tangent: return a.e * (1 + size) <= T(0.25) ? 2 * a.e * (1 + v * v) : kInfinite<T>;
    case tail: return a.v > 1 ? v * growth(a.e * (2 * x + T(1.2) + 2 * a.e)) : k * a.e;
    case additive: return a.e + b.e;
    case bilinear: {
      const T product = x * b.e + y * a.e + a.e * b.e;
      return row.arity == 3 ? product + c.e : product;
    }
    case quotient: return y > 4 * b.e ? T(1.34) * (a.e + size * b.e) / y : kInfinite<T>;
    case extreme: return of_extreme(a, b, v);
    case base_and_exponent:
      return op == expr::Op::Pow ? of_power(a, y, b.e, v) : of_power(a, std::fabs(static_cast<T>(exponent)), T(0), v);
    case angle: return of_angle(a, b, k);
    case remainder: return a.e + std::fabs(std::trunc(a.v / b.v)) * b.e;
    case unbounded: return kInfinite<T>;
  }
  CHECK(false);
}

/// Returns the error caused by the operands' errors where a value or an error is infinite or NaN: that of propagate().
template <class T>
T propagate_classes(expr::Op op, std::int64_t exponent, const Tracked<T>& a, const Tracked<T>& b, const Tracked<T>& c,
                    T v) {
  using enum expr::Propagation;
  const double x = std::fabs(class_of(a.v)), y = std::fabs(class_of(b.v)), size = std::fabs(class_of(v));
  const double xe = class_of(a.e), ye = class_of(b.e);
  const expr::Propagation rule = expr::info(op).propagation;
  const auto known = [](const Tracked<T>& n) { return !is_finite(n.v) || std::fabs(n.v) > 4 * n.e; };
  if (rule == proportional && !is_finite(a.e)) return a.e;
  if (rule == relative) return is_finite(a.e) && known(a) ? static_cast<T>(size * xe / x) : kInfinite<T>;
  if (rule == additive) return xe + ye;
  if (rule == quotient) return is_finite(b.e) && known(b) ? static_cast<T>((xe + size * ye) / y) : kInfinite<T>;
  if (rule == bilinear) return x * ye + y * xe + xe * ye + (expr::info(op).arity == 3 ? class_of(c.e) : 0.0);
  return propagate(op, exponent, a, b, c, v);
}

}  // namespace tracked_detail

/// Evaluates the op with its error bound. `finite`: no operand's value and error is infinite or NaN.
template <class T, bool finite = false>
[[gnu::always_inline]] inline Tracked<T> apply(expr::Op op, std::int64_t exponent, const Tracked<T>& a,
                                               const Tracked<T>& b, const Tracked<T>& c) {
  Tracked<T> r;
  constexpr bool may_be_slow = !finite && std::is_same_v<T, long double>;
  r.v = may_be_slow ? apply_classes(expr::real_op(op), exponent, a.v, b.v, c.v)
                    : apply_plain(expr::real_op(op), exponent, a.v, b.v, c.v);
  if (std::isnan(r.v)) [[unlikely]] {
    r.e = tracked_detail::is_surely_nan(op, a, b, c) ? T(0) : tracked_detail::kInfinite<T>;
    return r;
  }
  if (a.e != 0 || b.e != 0 || c.e != 0) {
    const auto is_plain = [](const Tracked<T>& n) { return is_finite(n.v) && is_finite(n.e); };
    const int arity = expr::info(op).arity;
    if (!may_be_slow || (is_plain(a) && (arity < 2 || is_plain(b)) && (arity < 3 || is_plain(c))))
      r.e = tracked_detail::propagate(op, exponent, a, b, c, r.v);
    else
      r.e = tracked_detail::propagate_classes(op, exponent, a, b, c, r.v);
  }
  constexpr std::int64_t kExactExponentMax = std::int64_t{1} << 50;  // beyond it the carrier may not hold the exponent
  if (op == expr::Op::Powi && (exponent > kExactExponentMax || exponent < -kExactExponentMax))
    r.e = tracked_detail::kInfinite<T>;
  const int units = units_of(op);
  if (units == 0) return r;
  if (may_be_slow && !(is_finite(r.v) && is_finite(r.e))) {
    if (!std::isnan(r.e)) r.e = tracked_detail::kInfinite<T>;
  } else {
    r.e += static_cast<T>(units) * (std::fabs(r.v) * kUnit<T> + kLeastError<T>);
  }
  return r;
}

}  // namespace trident::equiv
