// sin, cos and tan. Arguments beyond a moderate bound are reduced by payne_hanek.cpp, the others here. In class ulp1 a
// kernel for arguments of any size has both reductions and selects by lane: so where the arguments are known to be
// moderate, jit/kir/narrow.h leaves a third of the operations, with the same bits.
//
// Two ways to reduce:
//   modulo pi/2  n = round(x 2/pi), r in [-pi/4, pi/4]: sin and cos of r, one of them selected by the parity of n. The
//                reduction and both polynomials are shared between sin and cos of one argument by hash-consing.
//   modulo pi    (sin or cos alone, classes above 1 ulp) n = round(x / pi), r in [-pi/2, pi/2]: one polynomial,
//                no select; the longer polynomial loses some tenths of an ulp near pi/2.
//
// The period is taken off in parts, each with one fma: x - n c1 is exact (n c1 agrees with x in its leading bits), the
// second part leaves n 2^-49 (2^-107), enough for the few n where no float lies close to a multiple of the period; the
// bounds were computed from the nearest float of every multiple. Otherwise a third part follows.
#include "jit/kir/math/trig.h"

#include <cmath>

#include "jit/kir/math/coefficients/constants.h"
#include "jit/kir/math/coefficients/trig.h"

namespace trident::kir::math {

namespace {

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kQuarterPi = 0.7853;
/// Up to here n is exact enough in a float and three parts of the period are enough bits.
constexpr double kModerateF32 = 1e5, kModerateF64 = 1e9;

const CoefficientSets kSin = {kSinF32Ulp1, kSinF32Ulp1, kSinF64Ulp1, kSinF64Ulp1, kSinF32Rel3};
const CoefficientSets kCos = {kCosF32Ulp1, kCosF32Ulp4, kCosF64Ulp1, kCosF64Ulp4, kCosF32Rel3};
const CoefficientSets kTan = {kTanF32Ulp1, kTanF32Ulp4, kTanF64Ulp1, kTanF64Ulp4, kTanF32Rel3};
const CoefficientSets kSinPi = {kSinPiF32, kSinPiF32, kSinPiF64, kSinPiF64, kSinPiF32Rel3};

/// Do two parts of the period leave every result its accuracy when n is at most `n_max`?
bool two_parts_suffice(const Expansion& e, double n_max) {
  return n_max <= (e.rel3() ? e.by_type(1e3, 1e9) : e.by_type(2.0, 20.0));
}

}  // namespace

Reduced reduce(Expansion& e, Value x, const Range& range, double period_in_pi, double offset) {
  const double n_max = std::floor(magnitude(range) / (kPi * period_in_pi) + 0.5 + 1e-4 + offset);
  if (n_max == 0 && offset == 0) return {x, {}, {}, {}};

  const double inverse = e.by_type(kInvPiF32, kInvPiF64)[0] / period_in_pi;
  const Value t = offset == 0 ? e.b.fma(x, e.k(inverse), e.k(e.magic()))
                              : e.b.add(e.b.fma(x, e.k(inverse), e.k(-offset)), e.k(e.magic()));
  Value n = e.b.sub(t, e.k(e.magic()));
  if (offset != 0) n = e.b.add(n, e.k(offset));
  const bool two = two_parts_suffice(e, n_max);
  const double* pi = two ? e.by_type(kPi2F32, kPi2F64) : e.by_type(kPi3F32, kPi3F64);
  const auto part = [&](int i) { return e.k(pi[i] * period_in_pi); };
  if (offset != 0) {
    const Value r = e.b.fma(n, part(1), e.b.fms(n, part(0), x));
    return {two ? r : e.b.fma(n, part(2), r), {}, e.b.as_int(t), {}};
  }
  const Value first = e.b.fnma(n, part(0), x);
  if (two || !e.ulp1()) {
    Value r = e.b.fnma(n, part(1), first);
    if (!two) r = e.b.fnma(n, part(2), r);
    Value negated_tail;
    if (e.ulp1()) negated_tail = e.b.fma(n, part(1), e.b.sub(r, first));
    return {r, negated_tail, e.b.as_int(t), {}};
  }
  const Value second = e.b.mul(n, part(1));
  const Value r = e.b.sub(first, second);
  const Value lost = e.b.add(e.b.sub(r, first), second);
  const Value rest = e.b.fma(n, part(2), e.b.fms(n, part(1), second));
  return {r, e.b.add(lost, rest), e.b.as_int(t), {}};
}

Value square_of_reduced(Expansion& e, const Reduced& a) {
  if (!a.negated_tail.valid()) return e.b.mul(a.r, a.r);
  return e.b.fms(a.r, a.r, e.b.mul(a.r, e.b.add(a.negated_tail, a.negated_tail)));
}

Value sin_of_reduced(Expansion& e, const Reduced& a) {
  const Value w = e.horner_onto(square_of_reduced(e, a), e.pick(kSin), e.k(0));  // from +0: keeps the sign of a zero r
  if (!a.negated_tail.valid()) return e.b.fma(w, a.r, a.r);
  return e.b.add(e.b.fms(w, a.r, a.negated_tail), a.r);
}

Value cos_of_reduced(Expansion& e, const Reduced& a) {
  return e.horner_onto(square_of_reduced(e, a), e.pick(kCos), e.k(1));
}

namespace {

bool is_moderate(const Expansion& e, const Range& range) {
  return magnitude(range) <= e.by_type(kModerateF32, kModerateF64);
}

/// Reduces each argument as a kernel for arguments of its own size does.
Reduced reduce_either(Expansion& e, Value x) {
  const double most = e.by_type(kModerateF32, kModerateF64);
  const Reduced near = reduce(e, x, {-most, most, false}, 0.5, 0), far = reduce_huge(e, x);
  // NaN is near, so that it keeps no huge arguments' reduction where numbers are moderate.
  const Value is_far = e.b.lt(e.k(most), e.b.abs(x));
  const auto either = [&](Value one, Value other) { return e.b.select(is_far, other, one); };
  return {either(near.r, far.r), either(near.negated_tail, far.negated_tail), either(near.quotient, far.quotient),
          either(e.ki(0), far.sign)};
}

Reduced reduce_by_half_pi(Expansion& e, Value x, const Range& range) {
  if (is_moderate(e, range)) return reduce(e, x, range, 0.5, 0);
  return e.ulp1() ? reduce_either(e, x) : reduce_huge(e, x);
}

/// sin(x + quarter * pi/2) for quarter 0 (sin) or 1 (cos), modulo pi/2.
Value sin_quarter(Expansion& e, Value x, const Range& range, int quarter) {
  const Reduced a = reduce_by_half_pi(e, x, range);
  if (!a.quotient.valid()) return quarter == 0 ? sin_of_reduced(e, a) : cos_of_reduced(e, a);
  const Value s = sin_of_reduced(e, a), c = cos_of_reduced(e, a);
  const Value odd = e.b.ne(e.b.op(Op::And, a.quotient, e.ki(1)), e.ki(0));
  const Value result = quarter == 0 ? e.b.select(odd, c, s) : e.b.select(odd, s, c);
  const Value count = quarter == 0 ? a.quotient : e.b.add(a.quotient, e.ki(1));
  Value sign = e.b.op(Op::And, e.shift_left(count, e.by_type(30, 62)), e.ki(e.sign_bit()));
  if (quarter == 0 && a.sign.valid()) sign = e.b.op(Op::Xor, sign, a.sign);
  return e.flip_sign(result, sign);
}

/// sin(r) of |r| <= pi/2 with the sign of (-1)^n.
Value sin_of_half_turn(Expansion& e, const Reduced& a) {
  const Value s = e.odd(a.r, e.b.mul(a.r, a.r), e.pick(kSinPi));
  return a.quotient.valid() ? e.flip_sign(s, e.shift_left(a.quotient, e.by_type(31, 63))) : s;
}

}  // namespace

Value emit_sin(Expansion& e, Value x, const Range& range) {
  if (e.ulp1() || magnitude(range) <= kQuarterPi || !is_moderate(e, range)) return sin_quarter(e, x, range, 0);
  return sin_of_half_turn(e, reduce(e, x, range, 1, 0));
}

Value emit_cos(Expansion& e, Value x, const Range& range) {
  if (e.ulp1() || magnitude(range) <= kQuarterPi || !is_moderate(e, range)) return sin_quarter(e, x, range, 1);
  // With x = r + (n + 1/2) pi, cos(x) = (-1)^n sin(-r).
  return sin_of_half_turn(e, reduce(e, x, range, 1, 0.5));
}

namespace {

/// Returns the sign of tan for each quadrant, where the odd ones take -1 / tan(r).
Value sign_of_tan(Expansion& e, const Reduced& a) {
  const Value sign = e.shift_left(a.quotient, e.by_type(31, 63));
  return a.sign.valid() ? e.b.op(Op::Xor, sign, a.sign) : sign;
}

/// tan(r) is a quotient, so the odd quadrants only turn it round: one division serves both. The dividend is at least
/// 2^-30 (f32) where it divides, as no other float is nearer to a multiple of pi/2.
Value tan_by_quotient(Expansion& e, const Reduced& a, Value odd) {
  const bool few = e.single() || e.rel3();
  const Value w = e.b.mul(a.r, a.r);
  const Value dividend = few ? e.odd(a.r, w, kTanQuotientF32N) : e.odd(a.r, w, kTanQuotientF64N);
  const Value divisor = few ? e.horner_onto(w, kTanQuotientF32Q, e.k(1)) : e.horner_onto(w, kTanQuotientF64Q, e.k(1));
  const Value quotient = e.b.div(e.b.select(odd, divisor, dividend), e.b.select(odd, dividend, divisor), kBounded);
  return e.flip_sign(quotient, sign_of_tan(e, a));
}

}  // namespace

Value emit_tan(Expansion& e, Value x, const Range& range) {
  const Reduced a = reduce_by_half_pi(e, x, range);
  Value is_odd;
  if (a.quotient.valid()) is_odd = e.b.ne(e.b.op(Op::And, a.quotient, e.ki(1)), e.ki(0));
  if (is_odd.valid() && !e.ulp1()) return tan_by_quotient(e, a, is_odd);
  const Value r2 = e.b.mul(a.r, a.r);
  const Value p = e.horner(r2, e.pick(kTan));
  const Value r2_rest = e.ulp1() && a.quotient.valid() ? e.b.mul(p, e.b.fms(a.r, a.r, r2)) : e.k(0);
  const Value w = e.b.fma(p, r2, r2_rest);
  if (!a.quotient.valid()) return e.b.fma(w, a.r, a.r);
  // t + rest = r + (w r - tail (1 + tan(r)^2)); the tangent's square is near 3/2 r^2 where that counts.
  const Value slope = e.b.fma(e.b.mul(r2, e.k(1.5)), a.negated_tail, a.negated_tail);
  const Value u = e.b.fms(w, a.r, slope);
  const Value t = e.b.add(a.r, u);
  const Value rest = e.b.add(e.b.sub(a.r, t), u);
  const Value divisor = e.b.select(is_odd, t, e.k(1));
  const Value inverse = e.b.div(e.k(1), divisor, kNormal);
  const Value residual = e.b.fnma(rest, inverse, e.b.fnma(divisor, inverse, e.k(1)));
  return e.flip_sign(e.b.select(is_odd, e.b.fma(residual, inverse, inverse), t), sign_of_tan(e, a));
}

}  // namespace trident::kir::math
