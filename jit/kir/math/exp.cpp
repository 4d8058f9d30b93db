// exp and exp2: x = n ln 2 + r with |r| <= ln(2)/2, then 2^n p(r).
//
// n comes from adding 1.5 * 2^23 (2^52), which rounds to an integer and leaves n in the low bits of the sum, where the
// exponent can be raised with one shift and one integer addition. That needs a normal, finite result: proven by the
// range, or else Scalef does it, with overflow, gradual underflow and NaN in the same op. x is clamped only where it
// may be so large that n would not fit into the op's flags any more; the clamps keep a NaN.
#include "jit/kir/math/exp.h"

#include <algorithm>
#include <cmath>

#include "jit/kir/math/coefficients/constants.h"
#include "jit/kir/math/coefficients/exp.h"

namespace trident::kir::math {

namespace {

/// Beyond these exponents the result is 0 or infinite.
constexpr double kExponentF32 = 173, kExponentF64 = 1082;

/// Is base^x normal and finite for every number x of the range? log2_base scales x to a binary exponent.
bool normal_result(const Expansion& e, const Range& range, double log2_base) {
  const double least = e.by_type(-125.9, -1021.9), greatest = e.by_type(127.4, 1023.4);
  return range.lo * log2_base > least && range.hi * log2_base < greatest;
}

/// p 2^n for p within [1/2, 2], where 2^n is the power of a number of the range, clamped, without its fraction.
Value scale(Expansion& e, Value p, Value magic_sum, Value n, const Range& range, double log2_base) {
  const bool normal = normal_result(e, range, log2_base);
  if (normal && !range.may_be_nan) return e.raise_exponent(p, magic_sum);
  const bool falling = range.hi * log2_base < e.by_type(58.0, 506.0);
  return e.b.op(Op::Scalef, p, n, {}, normal ? kNormal : falling ? kFalling : kBounded);
}

}  // namespace

Value clamp(Expansion& e, Value x, const Range& range, double lo, double hi) {
  if (!(range.hi <= hi)) x = e.b.min(e.k(hi), x);
  if (!(range.lo >= lo)) x = e.b.max(e.k(lo), x);
  return x;
}

Value power_of_two(Expansion& e, Value magic_sum, int shift) {
  const std::int64_t one = e.by_type<std::int64_t>(0x3F80'0000, 0x3FF0'0000'0000'0000);
  const Value bits = e.shift_left(e.b.as_int(magic_sum), e.mantissa_bits());
  return e.b.as_float(e.b.op(Op::Add, bits, e.ki(one + (std::int64_t{shift} << e.mantissa_bits()))));
}

ExpReduced reduce_exp(Expansion& e, Value x, double magnitude, bool with_tail) {
  ExpReduced out;
  out.magic_sum = e.b.fma(x, e.k(e.by_type(kLog2eF32, kLog2eF64)[0]), e.k(e.magic()));
  out.n = e.b.sub(out.magic_sum, e.k(e.magic()));
  const double* ln2 = e.by_type(kLn2F32, kLn2F64);
  // n * ln2[1] shifts the result by that relative amount: dropped below a part of the class's slack.
  const double n_max = std::min(e.by_type(150.0, 1075.0), std::floor(magnitude * 1.4427 + 0.5));
  const double slack = e.by_type(0x1p-24, 0x1p-53) * (e.ulp1() ? 0.125 : 0.5);
  const bool one_part = e.rel3() || n_max * std::fabs(ln2[1]) <= slack;
  if (with_tail && !one_part && e.single()) ln2 = kLn2PositiveF32;
  const Value first = e.b.fnma(out.n, e.k(ln2[0]), x);  // exact
  out.r = first;
  if (one_part) return out;
  out.r = e.b.fnma(out.n, e.k(ln2[1]), first);
  if (with_tail && e.ulp1()) out.negated_tail = e.b.fma(out.n, e.k(ln2[1]), e.b.sub(out.r, first));
  return out;
}

Value emit_exp(Expansion& e, Value x, const Range& range) {
  static constexpr CoefficientSets kSets = {kExpF32Ulp1, kExpF32Ulp4, kExpF64Ulp1, kExpF64Ulp1, kExpF32Rel3};
  const double limit = e.by_type(kExponentF32, kExponentF64) / kLog2eF64[0];
  if (!normal_result(e, range, kLog2eF64[0])) x = clamp(e, x, range, -limit, limit);
  const ExpReduced a = reduce_exp(e, x, magnitude(range), false);
  const Value p = e.b.fma(e.horner_onto(a.r, e.pick(kSets), e.k(1)), a.r, e.k(1));
  return scale(e, p, a.magic_sum, a.n, range, kLog2eF64[0]);
}

Value emit_exp2(Expansion& e, Value x, const Range& range) {
  static constexpr CoefficientSets kSets = {kExp2F32Ulp1, kExp2F32Ulp4, kExp2F64Ulp1, kExp2F64Ulp1, kExp2F32Rel3};
  const double limit = e.by_type(kExponentF32, kExponentF64);
  if (!normal_result(e, range, 1)) x = clamp(e, x, range, -limit, limit);
  const Value t = e.b.add(x, e.k(e.magic()));
  const Value n = e.b.sub(t, e.k(e.magic()));
  const Value p = e.horner_onto(e.b.sub(x, n), e.pick(kSets), e.k(1));
  return scale(e, p, t, n, range, 1);
}

Expm1 expm1_parts(Expansion& e, Value x, double magnitude, int shift) {
  static constexpr CoefficientSets kSets = {kExpm1F32Ulp1, kExpm1F32Ulp4, kExpm1F64Ulp1, kExpm1F64Ulp4, kExpm1F32Rel3};
  const ExpReduced a = reduce_exp(e, x, magnitude, true);
  const Value w = e.b.fma(e.horner(a.r, e.pick(kSets)), a.r, e.k(0));  // from +0: keeps the sign of a zero r
  Expm1 out;
  out.scale = power_of_two(e, a.magic_sum, shift);
  const Value rest = e.b.sub(e.k(std::ldexp(1.0, shift)), out.scale);  // 2^shift (1 - 2^n), for the signs of zeros
  if (!e.ulp1()) {
    out.p = e.b.fma(w, a.r, a.r);
    out.head = e.b.fms(out.scale, out.p, rest);
    return out;
  }
  // scale * (r + u) - rest, the rounding of its leading part kept beside it.
  const Value u =
      a.negated_tail.valid() ? e.b.fms(w, a.r, e.b.fma(a.negated_tail, a.r, a.negated_tail)) : e.b.mul(w, a.r);
  out.head = e.b.fms(out.scale, a.r, rest);
  Value lost = e.b.fms(out.scale, a.r, e.b.add(out.head, rest));
  if (magnitude > e.by_type(16.0, 36.0))  // 1 - 2^n is inexact
    lost = e.b.sub(lost, e.b.sub(e.k(std::ldexp(1.0, shift)), e.b.add(rest, out.scale)));
  out.tail = e.b.fma(out.scale, u, lost);
  return out;
}

Value emit_expm1(Expansion& e, Value x, const Range& range) {
  static constexpr CoefficientSets kSets = {kExpm1F32Ulp1, kExpm1F32Ulp4, kExpm1F64Ulp1, kExpm1F64Ulp4, kExpm1F32Rel3};
  if (!range.may_be_nan && magnitude(range) <= 0.3466)
    return e.b.fma(e.b.fma(e.horner(x, e.pick(kSets)), x, e.k(0)), x, x);
  // Below the lower clamp the result is -1. Above 2^127 (2^1023) the scale would overflow: computed halved, then
  // doubled.
  const double overflow = e.by_type(88.9, 709.9);
  x = clamp(e, x, range, e.by_type(-30.0, -60.0), overflow);
  const bool halved = range.hi > e.by_type(87.9, 709.0);
  const Expm1 a = expm1_parts(e, x, std::min(magnitude(range), overflow), halved ? -1 : 0);
  const Value result = a.tail.valid() ? e.b.add(a.head, a.tail) : a.head;
  if (!halved) return result;
  const Value denormal = e.b.lt(e.b.abs(x), e.k(4 * e.least_normal()));  // halving would lose a bit there
  return e.b.select(denormal, x, e.b.add(result, result));
}

}  // namespace trident::kir::math
