// round, fmod: exact functions.
//
// round adds the greatest number below 1/2 with the sign of x and truncates: the sum rounds to the right side of every
// integer, also where x has no fraction bits left.
//
// fmod divides like a pupil: the divisor is raised by 2^(22 j) (2^(51 j)), and for each j from the top a quotient digit
// of that many bits is subtracted with one exact fma. Where the digit came out one too large the divisor is added back.
// The number of steps follows from the range: one or two for ranges of ordinary size, 13 (f32) or 42 (f64) for all
// numbers.
//
// Where that would be many steps, fmod of f64 goes by powers instead. |x| = A 2^p and |y| = M 2^q with integers A, M
// below 2^53 (the bits of the mantissa) and d = p - q, which is not negative unless |x| < |y|. Then
//
//   |x| mod |y| = 2^q (A 2^d mod M),   A 2^d = (2^(d >> s))^(2^s) * (A 2^(d mod 2^s))
//
// which is s squarings and one product modulo M, and no division but 1 / M. Every step is exact; `Modulo` has the
// proof.
#include <cmath>

#include "jit/kir/math/functions.h"

namespace trident::kir::math {

Value emit_round(Expansion& e, Value x) {
  const Value below_half = e.k(e.by_type(0x1.fffffep-2, 0x1.fffffffffffffp-2));
  const Value nudge = e.with_sign_of(below_half, x);
  return e.b.op(Op::Trunc, e.b.add(x, nudge));
}

namespace {

/// Arithmetic of integers modulo the integer M in [1, 2^53), in f64. A residue u has |u| <= M/2 + 4, and |u| <= M/2 for
/// M < 2^50.
///
///   reduce(r)   u = r - q M, q = rint(r i0), i0 = RN(1 / M). r i0 is within |r|/M 2^-52 (1 + 2^-52) of r / M, so
///               |u| <= M/2 + |r| 2^-52 (1 + 2^-52), which is below 2^53 for |r| <= 2^100: an integer that f64 holds,
///               so the one rounding of fnma changes nothing. It is a residue where |r| <= 2^53 and |r| <= M (1 +
///               2^-40), or where |r| <= M/2 + 2^32: 2 |u| and M are integers.
///   of(r)       reduces twice: the first time leaves at most M/2 + |r| 2^-52 (1 + 2^-52), so |r| may be 2^84.
///   product     h + l = u v exactly (h = RN(u v), l = fms(u, v, h)); t = h / M nearly, q = rint(t), r = (h - q M) + l.
///               |u v| <= (M/2 + 4)^2, so |h / M| <= 2^51 + 5. i0 + i1 is 1 / M within 2^-105 of it (i1 is RN of the
///               exact 1 - i0 M, times i0), so t = fma(h, i0, RN(h i1)) is within 2^-2 + 2^-53 of h / M: half an ulp of
///               t and what is next to nothing. So |h - q M| <= M (3/4 + 2^-53) < 2^53, exact. Where |u v| <= 2^104,
///               |l| <= 2^50, and the sum is below 2^53. Where not, M > 2^53 - 16 and |l| <= 2^51, and the sum is at
///               most 3/4 (2^53 - 1) + 1 + 2^51 < 2^53 + 1. So r is exact. |l| <= |h| 2^-53 <= M/4 (1 + 2^-40), or 0,
///               so reduce(r) is a residue.
class Modulo {
 public:
  Modulo(Expansion& e, Value modulus) : e_(e), modulus_(modulus), inverse_(e.b.div(e.k(1), modulus)) {
    inverse_rest_ = e.b.mul(e.b.fnma(inverse_, modulus, e.k(1)), inverse_);
  }

  Value reduce(Value r) { return e_.b.fnma(e_.b.op(Op::Rint, e_.b.mul(r, inverse_)), modulus_, r); }
  Value of(Value r) { return reduce(reduce(r)); }
  Value product(Value u, Value v) {
    const Value h = e_.b.mul(u, v), l = e_.b.fms(u, v, h);
    const Value t = e_.b.fma(h, inverse_, e_.b.mul(h, inverse_rest_));
    return reduce(e_.b.add(e_.b.fnma(e_.b.op(Op::Rint, t), modulus_, h), l));
  }

 private:
  Expansion& e_;
  const Value modulus_, inverse_;
  Value inverse_rest_;
};

/// A number that is not negative as an integer below 2^53 in f64, and the exponent field that scales it.
struct Integral {
  Value integer, field;
};

Integral integral(Expansion& e, Value a) {
  const Value bits = e.b.as_int(a), field = e.b.op(Op::Shr, bits, e.ki(52));
  const Value fraction = e.b.op(Op::And, bits, e.ki((std::int64_t{1} << 52) - 1));
  const Value whole =
      e.b.as_float(e.b.op(Op::Or, fraction, e.ki(std::int64_t{1075} << 52)));  // 2^52 more than the fraction
  const Value is_subnormal = e.b.lt(a, e.k(e.least_normal()));
  return {e.b.select(is_subnormal, e.b.sub(whole, e.k(0x1p52)), whole), e.b.select(is_subnormal, e.ki(1), field)};
}

/// 2^n for the integer n.
Value power_of_two(Expansion& e, Value n) {
  return e.b.as_float(e.shift_left(e.b.add(n, e.ki(1023)), 52));
}

constexpr int kPowers = 5;    ///< squarings: 2^(d >> 5) is at most 2^63, A 2^(d mod 32) below 2^84
constexpr int kStepsMax = 6;  ///< of the pupil's division, which takes as long as the powers

/// |x| mod |y| by powers, for operands of any size. An infinite or missing operand makes `special` NaN, and y = 0 the
/// inverse; both reach the result.
Value remainder_by_powers(Expansion& e, Value x, Value y) {
  const Value a = e.b.abs(x), b = e.b.abs(y);
  // Where |x| < |y|, |y| stands for |x|: a power of a negative d might be subnormal, which takes processors long.
  const Integral dividend = integral(e, e.b.max(a, b)), divisor = integral(e, b);
  const Value d = e.b.sub(dividend.field, divisor.field);
  const Value apart = e.b.sub(a, b), special = e.b.sub(apart, apart);
  Modulo modulo(e, divisor.integer);
  Value power = modulo.of(power_of_two(e, e.b.op(Op::Shr, d, e.ki(kPowers))));
  for (int i = 0; i < kPowers; ++i) power = modulo.product(power, power);
  const Value low = power_of_two(e, e.b.op(Op::And, d, e.ki((1 << kPowers) - 1)));
  const Value residue = modulo.product(power, modulo.of(e.b.fma(dividend.integer, low, special)));
  const Value r = e.b.abs(e.b.select(e.b.lt(residue, e.k(0)), e.b.add(residue, divisor.integer), residue));
  const Value scaled =
      e.b.mul(e.b.mul(r, e.k(0x1p-52)), e.b.as_float(e.shift_left(divisor.field, 52)));  // exact, as the result is
  return e.b.select(e.b.lt(a, b), a, scaled);
}

}  // namespace

Value emit_fmod(Expansion& e, Value x, Value y, const Range& x_range, const Range& y_range) {
  const int digit_bits = e.by_type(22, 51);
  const double least = e.by_type(0x1p-149, 0x1p-1074), greatest = e.by_type(0x1p128, 0x1p1023);
  double y_least = y_range.lo > 0 ? y_range.lo : y_range.hi < 0 ? -y_range.hi : least;
  if (y_range.may_be_nan || !(y_least > least)) y_least = least;
  y_least = std::fmin(y_least, greatest);  // one step at least, which makes NaN of an infinite x
  const double x_greatest = bounded(x_range) ? magnitude(x_range) : greatest;
  const double bits = std::log2(std::fmax(x_greatest, y_least)) - std::log2(y_least) + 1;
  const int steps = 1 + static_cast<int>(bits / digit_bits);
  if (!e.single() && steps > kStepsMax) return e.with_sign_of(remainder_by_powers(e, x, y), x);

  const Value divisor = e.b.abs(y);
  Value r = e.b.abs(x);
  for (int j = steps - 1; j >= 0; --j) {
    Value raised = divisor;  // infinite when out of range: then r is smaller, and nothing is taken off
    for (int left = j * digit_bits; left > 0;) {
      const int exponent = std::min(left, e.by_type(100, 1000));
      raised = e.b.mul(raised, e.k(std::ldexp(1.0, exponent)));
      left -= exponent;
    }
    const Value digit = e.b.op(Op::Trunc, e.b.div(r, raised));
    const Value reduced = e.b.fnma(digit, raised, r);
    const Value mended = e.b.select(e.b.lt(reduced, e.k(0)), e.b.add(reduced, raised), reduced);
    r = e.b.select(e.b.lt(r, raised), r, mended);
  }
  return e.with_sign_of(r, x);
}

}  // namespace trident::kir::math
