// erf and erfc.
//
//   erf, ulp1   |x| <= 1: x + x P(x^2); beyond: 1 - exp(Q(|x| - 1)), Q = log(erfc), whose error shrinks with erfc
//   itself erf, else   |x| <= 1: likewise; a wider range: 1 - (1 + d)^-2^k with d = |x| S(|x|). (1 + d)^2 - 1 = d^2 + 2
//   d keeps
//               the relative accuracy of a small d, so neither an exponential nor a select is needed.
//   erfc, ulp1  |x| <= 3/4: 1 - x - x P(x^2); beyond: exp(-x^2) * erfcx(|x|) with erfcx(a) = F((a - k) / (a + k)) /
//               (1 + 2 a), 2 - that for negative x. x^2 and every factor are carried in two parts, so that the tail
//               keeps its relative accuracy down to the least number.
//   erfc, else  exp(-x^2) * erfcx(|x|) for every x, erfcx(a) = F((a - k) / (a + k)) / (1 + 9/8 a); only x^2 has two
//               parts.
#include "jit/kir/math/coefficients/erf.h"

#include "jit/kir/math/coefficients/exp.h"
#include "jit/kir/math/exp.h"
#include "jit/kir/math/functions.h"

namespace trident::kir::math {

namespace {

const CoefficientSets kErf = {kErfF32Ulp1, kErfF32Ulp4, kErfF64Ulp1, kErfF64Ulp4, kErfF32Rel3};

/// 1 - erf is below half an ulp of 1 there.
constexpr double kErfFarF32 = 4, kErfFarF64 = 6;

/// erf(a) = 1 - (1 + d)^-8 of a >= 0. u = a + v is d times the power that is left, so that a tiny a loses no bits, and
/// only the last sum rounds all of a small u.
Value erf_by_squares(Expansion& e, Value a) {
  const bool few = e.single() || e.rel3();
  Value v = e.b.mul(a, few ? e.horner(a, kErfRootF32) : e.horner(a, kErfRootF64));
  Value u = e.b.add(a, v);
  for (double left = 8; left > 1; left /= 2) {
    v = e.b.fma(e.b.mul(u, e.k(1 / (2 * left))), u, v);
    u = e.b.add(a, v);
  }
  return e.b.div(u, e.b.add(u, e.k(1)), kBounded);
}

}  // namespace

Value emit_erf(Expansion& e, Value x, const Range& range) {
  Value a = e.b.abs(x);
  if (!e.ulp1() && !(bounded(range) && magnitude(range) <= 1)) {
    const double far = e.by_type(kErfFarF32, kErfFarF64);
    if (!(bounded(range) && magnitude(range) <= far)) a = e.b.min(e.k(far), a);
    return e.with_sign_of(erf_by_squares(e, a), x);
  }
  const Value inner = e.b.fma(e.horner(e.b.mul(a, a), e.pick(kErf)), a, a);
  if (bounded(range) && magnitude(range) <= 1) return e.with_sign_of(inner, x);
  const double far = e.by_type(kErfFarF32, kErfFarF64);
  const Value clamped = e.b.max(e.b.min(e.k(far), a), e.k(1));
  const Value t = e.b.sub(clamped, e.k(1));  // exact, and small where an error of the logarithm counts most
  const Value logarithm = e.single() ? e.horner(t, kLogErfcF32) : e.horner(t, kLogErfcF64);
  const Value outer = e.b.sub(e.k(1), emit_exp(e, logarithm, {-40, -1, false}));
  return e.with_sign_of(e.b.select(e.b.lt(e.k(1), a), outer, inner), x);
}

namespace {

/// Computes 1 - erf(x) for |x| <= 3/4: keeps the rounding error of 1 - x; the rest is small.
Value erfc_near_zero(Expansion& e, Value x) {
  const auto c = e.by_type<std::span<const double>>(kErfNearF32, kErfNearF64);
  const Value head = e.b.sub(e.k(1), x);
  const Value lost = e.b.sub(e.b.sub(e.k(1), head), x);
  return e.b.add(head, e.b.fnma(e.horner(e.b.mul(x, x), c), x, lost));
}

/// erfc(a) for a >= 3/4. The power, its factor and their product are heads and tails: only the last op rounds.
Value erfc_tail(Expansion& e, Value a, const Range& a_range) {
  Builder& b = e.b;
  // exp(-a^2) = 2^n (power + power_tail): the square's rounding error and the reduction's are one tail of r.
  const Value square = b.mul(a, a);
  const Value square_tail = b.fms(a, a, square);
  const ExpReduced x = reduce_exp(e, b.neg(square), a_range.hi * a_range.hi, true);
  const Value negated_tail = x.negated_tail.valid() ? b.add(x.negated_tail, square_tail) : square_tail;
  const Value u = b.mul(b.mul(x.r, x.r), e.horner(x.r, e.by_type<std::span<const double>>(kExpF32Ulp1, kExpF64Ulp1)));
  const Value power = b.add(x.r, e.k(1));
  const Value power_lost = b.add(b.sub(e.k(1), power), x.r);
  const Value power_tail = b.add(b.fnma(negated_tail, b.add(power, u), power_lost), u);
  // erfcx(a) (1 + 2 a) = factor + factor_tail
  const Value k = e.k(e.by_type(2.0, 4.0));
  const Value t = b.div(b.sub(a, k), b.add(a, k));
  const Value p = e.horner(t, e.by_type<std::span<const double>>(kErfcxF32, kErfcxF64));
  const Value factor = b.add(p, e.k(1.25));
  const Value factor_tail = b.add(b.sub(e.k(1.25), factor), p);

  const Value product = b.mul(power, factor);
  const Value product_tail = b.fma(power, factor_tail, b.fma(power_tail, factor, b.fms(power, factor, product)));
  // An eighth of 1 + 2 a makes the quotient as large as Scalef requires. The quotient then rounds once, with gradual
  // underflow too.
  constexpr int kEighth = 3;
  const Value quarter = b.mul(a, e.k(0.25));
  const Value divisor = b.add(quarter, e.k(0.125));
  const Value divisor_tail = b.add(b.sub(quarter, divisor), e.k(0.125));
  const Value inverse = b.div(e.k(1), divisor, kNormal);
  const Value quotient = b.mul(product, inverse);
  const Value residue = b.add(b.fnma(quotient, divisor, product), b.fnma(quotient, divisor_tail, product_tail));
  return b.op(Op::Scalef, b.fma(residue, inverse, quotient), b.sub(x.n, e.k(kEighth)), {}, kFalling);
}

/// erfc(a) for a >= 0, within a few ulp.
Value erfc_by_quotient(Expansion& e, Value a, double a_max) {
  Builder& b = e.b;
  const Value square = b.mul(a, a);
  const Value square_tail = b.fms(a, a, square);
  const ExpReduced x = reduce_exp(e, b.neg(square), a_max * a_max, false);
  const Value r = b.sub(x.r, square_tail);
  const auto c = e.by_type<std::span<const double>>(kExpF32Ulp1, kExpF64Ulp1);
  const Value growth = b.mul(e.horner_onto(r, c, e.k(1)), r);
  const Value k = e.k(e.by_type(2.0, 4.0));
  const Value t = b.div(b.sub(a, k), b.add(a, k), kBounded);
  const Value flat = e.single() ? e.horner(t, kErfcxFlatF32) : e.horner(t, kErfcxFlatF64);
  const Value product = b.div(b.fma(flat, growth, flat), b.fma(a, e.k(1.125), e.k(1)), kNormal);
  const bool normal = a_max * a_max * 1.4427 + 8 < e.by_type(125.0, 1021.0);
  if (normal) return e.raise_exponent(product, x.magic_sum);
  return b.op(Op::Scalef, b.mul(product, e.k(8)), b.sub(x.n, e.k(3)), {},
              kFalling);  // at least 1/16, as Scalef requires
}

constexpr double kErfcFarF32 = 10.1, kErfcFarF64 = 27.25;  ///< 0 beyond, or 2

/// Returns |x|, at most so large that erfc is 0.
Value erfc_argument(Expansion& e, Value x, const Range& range, double& a_max) {
  const double far = e.by_type(kErfcFarF32, kErfcFarF64);
  const bool within = bounded(range) && magnitude(range) <= far;
  a_max = within ? magnitude(range) : far;
  const Value a = e.b.abs(x);
  return within ? a : e.b.min(e.k(far), a);
}

/// Returns erfc(x) from `tail`, erfc(|x|).
Value reflected(Expansion& e, Value x, Value tail) {
  return e.b.select(e.b.lt(x, e.k(0)), e.b.sub(e.k(2), tail), tail);
}

}  // namespace

Value emit_erfc(Expansion& e, Value x, const Range& range) {
  const double near = 0.75;
  if (bounded(range) && magnitude(range) <= near) return erfc_near_zero(e, x);
  double a_max = 0;
  Value a = erfc_argument(e, x, range, a_max);
  if (!e.ulp1()) {
    const Value tail = erfc_by_quotient(e, a, a_max);
    return range.may_be_nan || range.lo < 0 ? reflected(e, x, tail) : tail;
  }
  a = e.b.max(a, e.k(near));
  const Value tail = erfc_tail(e, a, {near, a_max, false});
  Value result = tail;
  if (range.may_be_nan || range.lo < -near) result = reflected(e, x, tail);
  if (range.may_be_nan || range.lo < near)
    result = e.b.select(e.b.lt(e.k(near), e.b.abs(x)), result, erfc_near_zero(e, x));
  return result;  // NaN is not above 3/4 and passes through the polynomial
}

}  // namespace trident::kir::math
