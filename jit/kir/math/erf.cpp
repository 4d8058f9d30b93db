// erf and erfc.
//
//   erf   |x| <= 1: x + x P(x^2); beyond: 1 - exp(Q(|x| - 1)), Q = log(erfc), whose error shrinks with erfc itself
//   erfc  |x| <= 3/4: 1 - x - x P(x^2); beyond: exp(-x^2) * erfcx(|x|) with erfcx(a) = F((a - k) / (a + k)) /
//         (1 + 2 a), 2 - that for negative x. x^2 and every factor are carried in two parts, so that the tail keeps
//         its relative accuracy down to the least number.
#include "jit/kir/math/coefficients/erf.h"

#include "jit/kir/math/coefficients/exp.h"
#include "jit/kir/math/exp.h"
#include "jit/kir/math/functions.h"

namespace trident::kir::math {

namespace {

const CoefficientSets kErf = {kErfF32Ulp1, kErfF32Ulp4, kErfF64Ulp1, kErfF64Ulp4, kErfF32Rel3};

}  // namespace

Value emit_erf(Expansion& e, Value x, const Range& range) {
  const Value a = e.b.abs(x);
  const Value inner = e.b.fma(e.horner(e.b.mul(a, a), e.pick(kErf)), a, a);
  Value result = inner;
  if (!(bounded(range) && magnitude(range) <= 1)) {
    const double far = e.by_type(4.0, 6.0);  // 1 - erf is below half an ulp of 1 there
    const Value clamped = e.b.max(e.b.min(e.k(far), a), e.k(1));
    const Value t = e.b.sub(clamped, e.k(1));  // exact, and small where an error of the logarithm counts most
    const Value logarithm = e.single() ? e.horner(t, kLogErfcF32) : e.horner(t, kLogErfcF64);
    const Value outer = e.b.sub(e.k(1), emit_exp(e, logarithm, {-40, -1, false}));
    result = e.b.select(e.b.lt(e.k(1), a), outer, inner);
  }
  return e.with_sign_of(result, x);
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
Value erfc_tail(Expansion& precise, Value a, const Range& a_range) {
  Expansion& e = precise;
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
  return b.op(Op::Scalef, b.fma(residue, inverse, quotient), b.sub(x.n, e.k(kEighth)));
}

}  // namespace

Value emit_erfc(Expansion& e, Value x, const Range& range) {
  const double near = 0.75;
  if (bounded(range) && magnitude(range) <= near) return erfc_near_zero(e, x);
  Expansion precise(e.b, e.type, Accuracy::ulp1);
  const double far = e.by_type(10.1, 27.25);  // 0 beyond, or 2
  Value a = e.b.abs(x);
  const bool within = bounded(range) && magnitude(range) <= far;
  a = e.b.max(within ? a : e.b.min(e.k(far), a), e.k(near));
  const Value tail = erfc_tail(precise, a, {near, within ? magnitude(range) : far, false});
  Value result = tail;
  if (range.may_be_nan || range.lo < -near) result = e.b.select(e.b.lt(x, e.k(0)), e.b.sub(e.k(2), tail), tail);
  if (range.may_be_nan || range.lo < near)
    result = e.b.select(e.b.lt(e.k(near), e.b.abs(x)), result, erfc_near_zero(e, x));
  return result;  // NaN is not above 3/4 and passes through the polynomial
}

}  // namespace trident::kir::math
