// Real numbers in MPFR, with as many bits as needed: the definition of "the correct value" of an expression. Every
// number carries a bound of its own error, so that a value is used only where it is known: if cancellation eats all 200
// bits, that is seen, and WideBig asks again with more. Slow and simple; everything quicker in this folder is allowed
// only where it provably agrees with this.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <utility>

#include "jit/expr/expr.h"

namespace trident::equiv {

inline constexpr mpfr_prec_t kBigBits = 200;

class Big {
 public:
  /// Bounds of errors are powers of two: |true value - value| < 2^error_log2, or one of these.
  static constexpr std::int64_t kExact = INT64_MIN;
  static constexpr std::int64_t kUnknown = INT64_MAX;

  Big() { mpfr_init2(x_, kBigBits); }
  explicit Big(double v) : Big() { mpfr_set_d(x_, v, MPFR_RNDN); }
  explicit Big(long double v) : Big() { mpfr_set_ld(x_, v, MPFR_RNDN); }
  Big(const Big& other) : error_log2(other.error_log2) {
    mpfr_init2(x_, mpfr_get_prec(other.x_));
    mpfr_set(x_, other.x_, MPFR_RNDN);
  }
  Big(Big&& other) noexcept : Big() { *this = std::move(other); }
  /// Assigns the value, but keeps its own precision.
  Big& operator=(const Big& other) {
    mpfr_set(x_, other.x_, MPFR_RNDN);
    error_log2 = other.error_log2;
    return *this;
  }
  Big& operator=(Big&& other) noexcept {
    mpfr_swap(x_, other.x_);
    error_log2 = other.error_log2;
    return *this;
  }
  ~Big() { mpfr_clear(x_); }

  std::int64_t error_log2 = kExact;

  [[nodiscard]] mpfr_ptr raw() { return x_; }
  [[nodiscard]] mpfr_srcptr raw() const { return x_; }
  /// Returns the nearest long double.
  [[nodiscard]] long double to_long_double() const;
  [[nodiscard]] bool is_nan() const { return mpfr_nan_p(x_) != 0; }

 private:
  mpfr_t x_;
};

/// A Big that starts with kBits bits: those of one evaluation all have the same.
template <mpfr_prec_t kBits>
class WideBig : public Big {
 public:
  WideBig() { mpfr_set_prec(raw(), kBits); }
};

/// Evaluates one op over the reals, IEEE rules at infinities, NaN and signed zeros, to the precision of
/// `result`.
/// Floats only: comparisons, reductions and integer ops are handled where decisions are (evaluator.h), as are steps:
/// the bound of a step's result holds if the operand is sure to lie on one side of it. `exponent` is Powi's.
void apply(expr::Op op, std::int64_t exponent, const Big& a, const Big& b, const Big& c, Big& result);

/// Returns log2 of a bound of the result's error that the operands' errors cause, kExact or kUnknown; `result` is the
/// computed value. May be too large by a factor of two or four: there are bits to spare.
std::int64_t propagate_error(expr::Op op, std::int64_t exponent, const Big& a, const Big& b, const Big& c,
                             mpfr_srcptr result);
/// Returns whether the class of the true value is sure to be that of `x`: NaN, infinity, zero, or a number of its sign.
bool sure_of_class(const Big& x);
/// Returns log2 of the sum of two bounds.
std::int64_t sum_of_bounds(std::int64_t x, std::int64_t y);

}  // namespace trident::equiv
