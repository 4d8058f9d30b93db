// The true values of the functions of this folder, from MPFR, and the distance of a float from them. For tests and the
// accuracy campaign only: the library itself does not know MPFR.
#pragma once

#include <mpfr.h>

#include <cmath>
#include <limits>

#include "jit/kir/math/math.h"

namespace trident::kir::math {

class Oracle {
 public:
  explicit Oracle(int precision_bits = 160) {
    mpfr_inits2(precision_bits, x_, y_, value_, static_cast<mpfr_ptr>(nullptr));
  }
  ~Oracle() { mpfr_clears(x_, y_, value_, static_cast<mpfr_ptr>(nullptr)); }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  /// Evaluates f at (x, y); y is ignored by functions of one argument.
  void evaluate(Function f, double x, double y) {
    mpfr_set_d(x_, x, MPFR_RNDN);
    mpfr_set_d(y_, y, MPFR_RNDN);
    const auto one = [&](int (*g)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)) { g(value_, x_, MPFR_RNDN); };
    const auto two = [&](int (*g)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t)) { g(value_, x_, y_, MPFR_RNDN); };
    switch (f) {
      case Function::Sin: return one(mpfr_sin);
      case Function::Cos: return one(mpfr_cos);
      case Function::Tan: return one(mpfr_tan);
      case Function::Asin: return one(mpfr_asin);
      case Function::Acos: return one(mpfr_acos);
      case Function::Atan: return one(mpfr_atan);
      case Function::Atan2: return two(mpfr_atan2);
      case Function::Sinh: return one(mpfr_sinh);
      case Function::Cosh: return one(mpfr_cosh);
      case Function::Tanh: return one(mpfr_tanh);
      case Function::Asinh: return one(mpfr_asinh);
      case Function::Acosh: return one(mpfr_acosh);
      case Function::Atanh: return one(mpfr_atanh);
      case Function::Exp: return one(mpfr_exp);
      case Function::Exp2: return one(mpfr_exp2);
      case Function::Expm1: return one(mpfr_expm1);
      case Function::Log: return one(mpfr_log);
      case Function::Log2: return one(mpfr_log2);
      case Function::Log10: return one(mpfr_log10);
      case Function::Log1p: return one(mpfr_log1p);
      case Function::Pow: return two(mpfr_pow);
      case Function::Cbrt: return one(mpfr_cbrt);
      case Function::Hypot: return two(mpfr_hypot);
      case Function::Erf: return one(mpfr_erf);
      case Function::Erfc: return one(mpfr_erfc);
      case Function::Fmod: return two(mpfr_fmod);
      case Function::Round: mpfr_round(value_, x_); return;
      case Function::Rsqrt:  // IEEE 754-2019 9.2.1: -inf at -0; MPFR has +inf there
        one(mpfr_rec_sqrt);
        if (x == 0 && std::signbit(x)) mpfr_set_inf(value_, -1);
        return;
    }
  }

  /// The true value as a double.
  [[nodiscard]] double value() const { return mpfr_get_d(value_, MPFR_RNDN); }

  /// |got - value| in ulp of the true value in `type` (the spacing of floats at its binade, at least the least
  /// denormal). Infinite where one is NaN and the other is not, or where an infinity is wrong. An infinity stands for
  /// 2^128 (2^1024).
  [[nodiscard]] double error_ulp(double got, Type type) {
    const double inf = std::numeric_limits<double>::infinity();
    const int bits = type == Type::f32 ? 24 : 53, least = type == Type::f32 ? -149 : -1074;
    const int overflow = type == Type::f32 ? 128 : 1024;
    if (mpfr_nan_p(value_) || std::isnan(got)) return mpfr_nan_p(value_) && std::isnan(got) ? 0 : inf;
    if (mpfr_inf_p(value_)) return std::isinf(got) && (got > 0) == (mpfr_sgn(value_) > 0) ? 0 : inf;
    const double sign = std::signbit(got) ? -1 : 1;
    if (mpfr_get_exp(value_) > overflow &&
        !mpfr_zero_p(value_))  // 2^overflow and beyond is what an infinity stands for
      return std::isinf(got) && sign * mpfr_sgn(value_) > 0 ? 0 : inf;
    int exponent = mpfr_zero_p(value_) ? least : static_cast<int>(mpfr_get_exp(value_)) - bits;
    exponent = exponent < least ? least : exponent;
    mpfr_set_d(y_, std::isinf(got) ? sign : got, MPFR_RNDN);
    if (std::isinf(got)) mpfr_mul_2si(y_, y_, overflow, MPFR_RNDN);
    mpfr_sub(y_, y_, value_, MPFR_RNDN);
    mpfr_mul_2si(y_, y_, -exponent, MPFR_RNDN);
    return std::fabs(mpfr_get_d(y_, MPFR_RNDN));
  }
  /// |got - value| / |value|; |got| where the value is zero.
  [[nodiscard]] double error_relative(double got) {
    if (mpfr_nan_p(value_) || mpfr_inf_p(value_)) return error_ulp(got, Type::f64);
    mpfr_set_d(y_, got, MPFR_RNDN);
    mpfr_sub(y_, y_, value_, MPFR_RNDN);
    if (!mpfr_zero_p(value_)) mpfr_div(y_, y_, value_, MPFR_RNDN);
    return std::fabs(mpfr_get_d(y_, MPFR_RNDN));
  }

 private:
  mpfr_t x_, y_, value_;
};

}  // namespace trident::kir::math
