// erf and erfc.
//
//   erf   |x| <= 1: x + x P(x^2); beyond: 1 - exp(Q(|x|)), Q = log(erfc), whose error shrinks with erfc itself
//   erfc  exp(-x^2) * erfcx(|x|) with erfcx(a) = F((a - k) / (a + k)) / (1 + 2 a); 2 - that for negative x. x^2 is
//   carried
//         in two parts, so that the tail keeps its relative accuracy down to the least number.
#include "jit/kir/math/coefficients/erf.h"
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
    const Value logarithm = e.single() ? e.horner(clamped, kLogErfcF32) : e.horner(clamped, kLogErfcF64);
    const Value outer = e.b.sub(e.k(1), emit_exp(e, logarithm, {-40, -1, false}));
    result = e.b.select(e.b.lt(e.k(1), a), outer, inner);
  }
  return e.b.as_float(e.b.op(Op::Or, e.b.as_int(result), e.sign_of(x)));
}

Value emit_erfc(Expansion& e, Value x, const Range& range) {
  const double far = e.by_type(10.1, 27.25);  // 0 beyond, or 2
  Value a = e.b.abs(x);
  if (!(bounded(range) && magnitude(range) <= far)) a = e.b.min(e.k(far), a);
  const Value square = e.b.mul(a, a);
  const Value rest = e.b.fms(a, a, square);
  Expansion precise(e.b, e.type, Accuracy::ulp1);
  const Value power = emit_exp(precise, e.b.neg(square), {-(far * far), 0, false});
  const double k = e.by_type(2.0, 4.0);
  const Value t = e.b.div(e.b.sub(a, e.k(k)), e.b.add(a, e.k(k)));
  const Value f = e.single() ? e.horner(t, kErfcxF32) : e.horner(t, kErfcxF64);
  const Value scaled = e.b.div(f, e.b.fma(a, e.k(2), e.k(1)), kNormal);
  const Value tail = e.b.mul(e.b.fnma(rest, power, power), scaled);
  Value result = tail;
  if (range.may_be_nan || range.lo < 0) result = e.b.select(e.b.lt(x, e.k(0)), e.b.sub(e.k(2), tail), tail);
  if (range.may_be_nan) result = e.b.select(e.b.ne(x, x), x, result);
  return result;
}

}  // namespace trident::kir::math
