// One vocabulary for the three number types that an expression is evaluated in: Tracked<double>, Tracked<long double>
// and WideBig. evaluator.h is written against it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "jit/equiv/big.h"
#include "jit/equiv/rounded.h"
#include "jit/equiv/tracked.h"

namespace trident::equiv {

// --- Tracked ---------------------------------------------------------------------------------------------------------

template <class T>
long double approximate(const Tracked<T>& n) {
  return static_cast<long double>(n.v);
}
template <class T>
long double error_of(const Tracked<T>& n) {
  return static_cast<long double>(n.e);
}
template <class T>
bool is_exactly(const Tracked<T>& n, double value) {
  return n.v == static_cast<T>(value);
}
template <class T>
void set_exact(Tracked<T>& n, double value) {
  n = {static_cast<T>(value), 0};
}
template <class T>
void set_int(Tracked<T>& n, std::int64_t value) {
  n.v = static_cast<T>(value);
  n.e = std::numeric_limits<T>::digits >= 63 ? T(0) : std::fabs(n.v) * kUnit<T>;
}
/// Rounds a value to the float on the side of a midpoint where it surely lies. The result is exact, but the sign of a
/// zero and the class of values beyond all floats are only as sure as they were.
template <class T>
void round_to_f32(const Tracked<T>& a, Tracked<T>& r) {
  r.v = static_cast<T>(static_cast<float>(a.v));
  r.e = r.v == 0 || !std::isfinite(a.v) ? a.e : T(0);
}
template <class T>
void widen(Tracked<T>& n, long double error) {
  n.e += static_cast<T>(error);
}
template <class T>
bool less(const Tracked<T>& a, const Tracked<T>& b) {
  return a.v < b.v;
}
template <class T>
bool equal(const Tracked<T>& a, const Tracked<T>& b) {
  return a.v == b.v;
}
/// Inline: in a loop that is compiled for one op, nothing is left of the choice by op.
template <class T>
[[gnu::always_inline]] inline void apply_to(expr::Op op, std::int64_t exponent, const Tracked<T>& a,
                                            const Tracked<T>& b, const Tracked<T>& c, Tracked<T>& r) {
  r = apply(op, exponent, a, b, c);
}

/// Returns the strict value of an op: that of `correct`, which is computed already, where operands are exact.
template <class T>
[[gnu::always_inline]] inline double strict_value(expr::Op op, expr::Type type, std::int64_t exponent,
                                                  const Tracked<T>& correct, bool exact, double a, double b, double c) {
  if (exact && units_of(op) > 1)
    if (const std::optional<double> value = rounded(type, correct)) return *value;
  return apply_rounded(op, type, exponent, a, b, c);
}

// --- Big -------------------------------------------------------------------------------------------------------------

inline double strict_value(expr::Op op, expr::Type type, std::int64_t exponent, const Big& /*correct*/, bool /*exact*/,
                           double a, double b, double c) {
  return apply_rounded(op, type, exponent, a, b, c);
}

inline long double approximate(const Big& n) {
  return n.to_long_double();
}
inline long double error_of(const Big& n) {
  if (n.error_log2 == Big::kExact) return 0;
  // A bound below the carrier's least number is still no zero.
  constexpr std::int64_t kExponentMax = std::numeric_limits<long double>::max_exponent;
  const auto exponent = std::min(n.error_log2, kExponentMax);
  return exponent < 1 - kExponentMax ? std::numeric_limits<long double>::denorm_min()
                                     : std::ldexp(1.0L, static_cast<int>(exponent));
}
inline bool is_exactly(const Big& n, double value) {
  // MPFR's comparison gives 0 for a NaN too.
  return n.error_log2 == Big::kExact && !n.is_nan() && !std::isnan(value) && mpfr_cmp_d(n.raw(), value) == 0;
}
inline void set_exact(Big& n, double value) {
  mpfr_set_d(n.raw(), value, MPFR_RNDN);
  n.error_log2 = Big::kExact;
}
inline void set_int(Big& n, std::int64_t value) {
  mpfr_set_si(n.raw(), static_cast<long>(value), MPFR_RNDN);
  n.error_log2 = Big::kExact;
}
inline void round_to_f32(const Big& a, Big& r) {
  const bool as_before = mpfr_number_p(a.raw()) == 0;
  mpfr_set_flt(r.raw(), mpfr_get_flt(a.raw(), MPFR_RNDN), MPFR_RNDN);
  r.error_log2 = as_before || mpfr_zero_p(r.raw()) != 0 ? a.error_log2 : Big::kExact;
}
inline void widen(Big& n, long double error) {
  n.error_log2 = sum_of_bounds(n.error_log2, std::isfinite(error) ? std::ilogb(error) + 1 : Big::kUnknown);
}
inline bool less(const Big& a, const Big& b) {
  return mpfr_less_p(a.raw(), b.raw()) != 0;
}
inline bool equal(const Big& a, const Big& b) {
  return mpfr_equal_p(a.raw(), b.raw()) != 0;
}
inline void apply_to(expr::Op op, std::int64_t exponent, const Big& a, const Big& b, const Big& c, Big& r) {
  apply(op, exponent, a, b, c, r);
}

// --- sums ------------------------------------------------------------------------------------------------------------

/// A sum of many numbers, with a bound of its error. N is a WideBig here.
template <class N>
class Accumulator {
 public:
  Accumulator() { mpfr_set_zero(sum_.raw(), 1); }
  void add(const N& x) {
    const bool rounded = mpfr_add(sum_.raw(), sum_.raw(), x.raw(), MPFR_RNDN) != 0;
    error_log2_ = std::max(error_log2_, x.error_log2);
    if (rounded && mpfr_regular_p(sum_.raw()) != 0)
      error_log2_ = std::max<std::int64_t>(error_log2_, mpfr_get_exp(sum_.raw()) - mpfr_get_prec(sum_.raw()));
    absolute_ += std::fabs(x.to_long_double());
    ++count_;
  }
  [[nodiscard]] N value() const {
    N v = sum_;
    v.error_log2 = error_log2_;
    if (v.error_log2 == Big::kExact || v.error_log2 == Big::kUnknown) return v;
    for (std::uint64_t terms = 2 * count_; terms > 0; terms /= 2) ++v.error_log2;  // two errors a term at most
    return v;
  }
  /// Sum of absolute values.
  [[nodiscard]] long double absolute() const { return absolute_; }

 private:
  N sum_;
  std::int64_t error_log2_ = Big::kExact;
  long double absolute_ = 0;
  std::uint64_t count_ = 0;
};

/// Two-sum compensation: keeps the rounding error of every addition in `low_`.
template <class T>
class Accumulator<Tracked<T>> {
 public:
  void add(const Tracked<T>& x) {
    const T sum = high_ + x.v;
    const T part = sum - high_;
    low_ += (high_ - (sum - part)) + (x.v - part);
    high_ = sum;
    error_ += x.e;
    absolute_ += std::fabs(x.v);
    ++count_;
  }
  [[nodiscard]] Tracked<T> value() const {
    const T v = count_ == 0 ? T(0) : high_ + low_;
    // low_ itself is a rounded sum: count * unit^2 of the absolute sum bounds its error.
    const T own = std::fabs(v) * kUnit<T> + static_cast<T>(count_) * kUnit<T> * kUnit<T> * absolute_ * 2;
    return {std::isfinite(low_) ? v : high_, error_ + own};
  }
  /// Sum of absolute values.
  [[nodiscard]] long double absolute() const { return static_cast<long double>(absolute_); }

 private:
  T high_ = 0, low_ = 0, error_ = 0, absolute_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace trident::equiv
