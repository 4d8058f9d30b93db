// exp and exp2: x = n ln 2 + r with |r| <= ln(2)/2, then 2^n p(r).
//
// n comes from adding 1.5 * 2^23 (2^52), which rounds to an integer and leaves n in the low bits of the sum, where the
// exponent can be raised with one shift and one integer addition. That needs a normal, finite result: proven by the
// range, or else Scalef does it, with overflow, gradual underflow and NaN in the same op. x is clamped only where it
// may be so large that n would not be an integer any more; the clamps keep a NaN.
#include "jit/kir/math/coefficients/exp.h"
#include "jit/kir/math/coefficients/constants.h"
#include "jit/kir/math/functions.h"

namespace trident::kir::math {

namespace {

/// Beyond these the result is 0 or infinite; n is still exact.
constexpr double kClampF32 = 256, kClampF64 = 2048;

/// min(max(x, lo), hi) as far as the range does not imply it; NaN stays.
Value clamp(Expansion& e, Value x, const Range& range, double limit) {
  if (!(range.hi < limit)) x = e.b.min(e.k(limit), x);
  if (!(range.lo > -limit)) x = e.b.max(e.k(-limit), x);
  return x;
}

/// Is base^x normal and finite for every x of the range? log2_base scales x to a binary exponent.
bool normal_result(const Expansion& e, const Range& range, double log2_base) {
  const double least = e.by_type(-125.9, -1021.9), greatest = e.by_type(127.9, 1023.9);
  return bounded(range) && range.lo * log2_base > least && range.hi * log2_base < greatest;
}

Value scale(Expansion& e, Value p, Value magic_sum, Value n, bool normal) {
  return normal ? e.raise_exponent(p, magic_sum) : e.b.op(Op::Scalef, p, n);
}

}  // namespace

Value emit_exp(Expansion& e, Value x, const Range& range) {
  static constexpr CoefficientSets kSets = {kExpF32Ulp1, kExpF32Ulp4, kExpF64Ulp1, kExpF64Ulp4, kExpF32Rel3};
  const bool normal = normal_result(e, range, kLog2eF64[0]);
  if (!normal) x = clamp(e, x, range, e.by_type(kClampF32, kClampF64));

  const Value t = e.b.fma(x, e.k(e.by_type(kLog2eF32[0], kLog2eF64[0])), e.k(e.magic()));
  const Value n = e.b.sub(t, e.k(e.magic()));
  const double* ln2 = e.by_type(kLn2F32, kLn2F64);
  Value r = e.b.fnma(n, e.k(ln2[0]), x);  // exact
  // n * ln2[1] shifts the result by that relative amount: dropped below a quarter of the class's slack.
  const double n_max =
      e.by_type(150.0, 1075.0) < magnitude(range) * 1.4427 ? e.by_type(150.0, 1075.0) : magnitude(range) * 1.4427 + 0.5;
  const double slack = e.by_type(0x1p-24, 0x1p-53) * (e.ulp1() ? 0.125 : 0.5);
  if (!e.rel3() && !(n_max * (ln2[1] < 0 ? -ln2[1] : ln2[1]) <= slack)) r = e.b.fnma(n, e.k(ln2[1]), r);
  Value p = e.horner_onto(r, e.pick(kSets), e.k(1));
  p = e.b.fma(p, r, e.k(1));
  return scale(e, p, t, n, normal);
}

Value emit_exp2(Expansion& e, Value x, const Range& range) {
  static constexpr CoefficientSets kSets = {kExp2F32Ulp1, kExp2F32Ulp4, kExp2F64Ulp1, kExp2F64Ulp4, kExp2F32Rel3};
  const bool normal = normal_result(e, range, 1);
  if (!normal) x = clamp(e, x, range, e.by_type(kClampF32, kClampF64));

  const Value t = e.b.add(x, e.k(e.magic()));
  const Value n = e.b.sub(t, e.k(e.magic()));
  const Value r = e.b.sub(x, n);
  return scale(e, e.horner_onto(r, e.pick(kSets), e.k(1)), t, n, normal);
}

}  // namespace trident::kir::math
