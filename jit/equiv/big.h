// Real numbers at 200 bits (MPFR): what "the correct value" of an expression means. Slow and simple; everything quicker
// in this folder is allowed only where it provably agrees with this.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <utility>

#include "jit/expr/expr.h"

namespace trident::equiv {

inline constexpr mpfr_prec_t kBigBits = 200;

class Big {
 public:
  Big() { mpfr_init2(x_, kBigBits); }
  explicit Big(double v) : Big() { mpfr_set_d(x_, v, MPFR_RNDN); }
  explicit Big(long double v) : Big() { mpfr_set_ld(x_, v, MPFR_RNDN); }
  Big(const Big& other) : Big() { *this = other; }
  Big(Big&& other) noexcept : Big() { *this = std::move(other); }
  Big& operator=(const Big& other) {
    mpfr_set(x_, other.x_, MPFR_RNDN);
    exact = other.exact;
    return *this;
  }
  Big& operator=(Big&& other) noexcept {
    mpfr_swap(x_, other.x_);
    exact = other.exact;
    return *this;
  }
  ~Big() { mpfr_clear(x_); }

  bool exact = true;  ///< no rounding has happened on the way to this value

  [[nodiscard]] mpfr_ptr raw() { return x_; }
  [[nodiscard]] mpfr_srcptr raw() const { return x_; }
  [[nodiscard]] long double to_long_double() const { return mpfr_get_ld(x_, MPFR_RNDN); }
  [[nodiscard]] bool is_nan() const { return mpfr_nan_p(x_) != 0; }

 private:
  mpfr_t x_;
};

/// One op of expr over the reals, IEEE rules at infinities, NaN and signed zeros. Floats only: comparisons, reductions
/// and integer ops are handled where decisions are (reference.cpp). `exponent` is Powi's.
void apply(expr::Op op, std::int64_t exponent, const Big& a, const Big& b, const Big& c, Big& result);

}  // namespace trident::equiv
