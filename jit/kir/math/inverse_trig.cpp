// atan, atan2, asin and acos: one polynomial on a short interval, everything else folded onto it.
//
//   atan   |x| > 1 by atan(x) = pi/2 + atan(-1/x): the division is always -1 / max(|x|, 1)
//   atan2  the smaller over the greater of |y| and |x|, then the octant's base angle 0, pi/2 or pi
//   asin, acos   |x| > 1/2 by asin(x) = pi/2 - 2 asin(sqrt((1 - |x|) / 2))
//
// A base angle is added in two parts. Class ulp1 also carries the rounding error of the division or square root.
#include <algorithm>

#include "jit/kir/math/coefficients/inverse_trig.h"
#include "jit/kir/math/functions.h"

namespace trident::kir::math {

namespace {

const CoefficientSets kAtan = {kAtanF32Ulp1, kAtanF32Ulp4, kAtanF64Ulp1, kAtanF64Ulp4, kAtanF32Rel3};
const CoefficientSets kAsin = {kAsinF32Ulp1, kAsinF32Ulp4, kAsinF64Ulp1, kAsinF64Ulp4, kAsinF32Rel3};

/// pi/2 as head and tail of the type.
struct Angle {
  double head, tail;
};
constexpr Angle kHalfPiF32 = {0x1.921fb6p0, -0x1.777a5cp-25};
constexpr Angle kHalfPiF64 = {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54};

Angle half_pi(const Expansion& e) {
  return e.by_type(kHalfPiF32, kHalfPiF64);
}

/// base + (t + tail + t * w), where |base| >= |t| or base = 0; `tail` may be absent.
Value add_to_base(Expansion& e, Value base, Value t, Value tail, Value w) {
  Value rest = tail.valid() ? e.b.fma(t, w, tail) : e.b.mul(t, w);
  const Value sum = e.b.add(base, t);
  if (e.ulp1()) rest = e.b.add(rest, e.b.add(e.b.sub(base, sum), t));
  return e.b.add(sum, rest);
}

/// P(t^2) t^2, so that atan(t) = t + t w.
Value correction(Expansion& e, Value t2, const CoefficientSets& sets) {
  return e.horner_onto(t2, e.pick(sets), e.k(0));
}

/// Returns the correction for atan, where |t| may be 1: ulp1 keeps the rounding error of the leading coefficient.
Value atan_correction(Expansion& e, Value t2) {
  if (!e.ulp1()) return correction(e, t2, kAtan);
  const auto c = e.pick(kAtan);
  const Value q = e.horner(t2, c.subspan(1));
  const Value p = e.b.fma(q, t2, e.k(c[0]));
  const Value lost = e.b.fma(q, t2, e.b.sub(e.k(c[0]), p));
  return e.b.fma(p, t2, e.b.mul(lost, t2));
}

/// Returns the change of atan(t) when t loses a little: lost / (1 + t^2), nearly.
Value changed_by(Expansion& e, Value lost, Value t2) {
  return e.b.fnma(lost, e.b.mul(t2, e.k(0.5)), lost);
}

}  // namespace

Value emit_atan(Expansion& e, Value x, const Range& range) {
  if (bounded(range) && magnitude(range) <= 1) return e.odd(x, e.b.mul(x, x), e.pick(kAtan));
  Value a = e.b.abs(x);
  // Beyond the bound the angle is pi/2 to the last bit, and -1 / a stays normal below it.
  const double bound = e.by_type(0x1p60, 0x1p120);
  if (!(bounded(range) && magnitude(range) <= bound)) a = e.b.min(e.k(bound), a);
  const Value folded = e.b.lt(e.k(1), a);
  const Value divisor = e.b.max(a, e.k(1));
  const Value inverse = e.b.div(e.k(-1), divisor, kNormal);
  const Value t = e.b.select(folded, inverse, a);
  const Value base = e.b.select(folded, e.k(half_pi(e).head), e.k(0));
  const Value t2 = e.b.mul(t, t);
  Value tail;
  if (e.ulp1()) {
    const Value residue = e.b.fnma(inverse, divisor, e.k(-1));  // -1 - inverse * divisor, exact
    const Value lost = changed_by(e, e.b.mul(residue, inverse), t2);
    tail = e.b.select(folded, e.b.sub(e.k(half_pi(e).tail), lost), e.k(0));
  }
  const Value result = add_to_base(e, base, t, tail, atan_correction(e, t2));
  return e.with_sign_of(result, x);
}

namespace {

double least_magnitude(const Range& range) {
  return std::max({range.lo, -range.hi, 0.0});
}

/// The remainder of num / den would underflow where both are next to nothing: both times a power of two, which is
/// exact.
void keep_remainder(Expansion& e, Value& num, Value& den) {
  const double small = e.single() ? 0x1p-64 : 0x1p-800, factor = e.single() ? 0x1p64 : 0x1p200;
  const Value scale = e.b.select(e.b.lt(den, e.k(small)), e.k(factor), e.k(1));
  num = e.b.mul(num, scale);
  den = e.b.mul(den, scale);
}

}  // namespace

Value emit_atan2(Expansion& e, Value y, Value x, const Range& y_range, const Range& x_range) {
  const Value ay = e.b.abs(y), ax = e.b.abs(x);
  const Value steep = e.b.lt(ax, ay);
  Value num = e.b.select(steep, ax, ay), den = e.b.select(steep, ay, ax);
  if (e.ulp1() && std::max(least_magnitude(x_range), least_magnitude(y_range)) < 0x1p-64) keep_remainder(e, num, den);
  const bool never_zero = x_range.lo > 0 || x_range.hi < 0 || y_range.lo > 0 || y_range.hi < 0;
  const bool finite = bounded(x_range) && bounded(y_range);
  Value t = e.b.div(num, den);
  if (!never_zero) t = e.b.select(e.b.eq(e.b.add(num, den), e.k(0)), e.k(0), t);
  if (!finite) {
    const Value both = e.b.op(Op::And, e.b.eq(num, e.infinity()), e.b.eq(den, e.infinity()));
    t = e.b.select(both, e.k(1), t);
  }
  Value lost;
  if (e.ulp1()) {
    lost = e.b.div(e.b.fnma(t, den, num), den);
    if (!never_zero || !finite) lost = e.b.select(e.b.lt(e.b.abs(lost), e.k(1)), lost, e.k(0));
  }
  // The angle is base +- atan(t): (x >= 0: 0 + t, steep: pi/2 - t), (x < 0: pi - t, steep: pi/2 + t).
  const Value x_sign = e.sign_of(x);
  const Value left = e.b.lt(x_sign, e.ki(0));
  const Value mask_steep = e.b.select(steep, e.k(-0.0), e.k(0));
  const Value minus = e.b.op(Op::Xor, e.b.as_int(mask_steep), x_sign);
  const auto base_part = [&](double half) {
    return e.b.select(steep, e.k(half), e.b.select(left, e.k(2 * half), e.k(0)));
  };
  t = e.flip_sign(t, minus);
  Value tail;
  const Value t2 = e.b.mul(t, t);
  if (e.ulp1()) tail = e.b.add(e.flip_sign(changed_by(e, lost, t2), minus), base_part(half_pi(e).tail));
  const Value result = add_to_base(e, base_part(half_pi(e).head), t, tail, atan_correction(e, t2));
  return e.with_sign_of(result, y);
}

namespace {

/// Argument folding that asin and acos share. |x| <= 1/2: s = |x|, z = x^2; else z = (1 - |x|) / 2, s = sqrt(z).
struct Folded {
  Value far;   ///< |x| > 1/2
  Value s, z;  ///< asin(s) = s + s * w(z)
  Value lost;  ///< where valid: sqrt(z) - s where far, else 0
};

Folded fold(Expansion& e, Value x) {
  const Value a = e.b.abs(x);
  Folded f;
  f.far = e.b.lt(e.k(0.5), a);
  const Value half = e.b.fnma(a, e.k(0.5), e.k(0.5));
  f.z = e.b.select(f.far, half, e.b.mul(a, a));
  const Value root = e.b.sqrt(half);
  f.s = e.b.select(f.far, root, a);
  if (e.ulp1()) {
    const Value twice = e.b.max(e.b.add(root, root), e.k(e.least_normal()));  // half = 0 loses nothing
    f.lost = e.b.select(f.far, e.b.div(e.b.fnma(root, root, half), twice), e.k(0));
  }
  return f;
}

bool near(const Range& range) {
  return bounded(range) && magnitude(range) <= 0.5;
}

}  // namespace

Value emit_asin(Expansion& e, Value x, const Range& range) {
  if (near(range)) return e.odd(x, e.b.mul(x, x), e.pick(kAsin));
  const Folded f = fold(e, x);
  const Value w = correction(e, f.z, kAsin);
  // far: pi/2 - 2 asin(s); else asin(s).
  const Value t = e.b.select(f.far, e.b.mul(f.s, e.k(-2)), f.s);
  const Value base = e.b.select(f.far, e.k(half_pi(e).head), e.k(0));
  Value tail;
  if (f.lost.valid()) {
    tail = e.b.sub(e.b.select(f.far, e.k(half_pi(e).tail), e.k(0)), e.b.add(f.lost, f.lost));
  }
  return e.with_sign_of(add_to_base(e, base, t, tail, w), x);
}

Value emit_acos(Expansion& e, Value x, const Range& range) {
  if (near(range)) {
    const Value t = e.b.neg(x);
    const Value tail = e.ulp1() ? e.k(half_pi(e).tail) : Value{};
    return add_to_base(e, e.k(half_pi(e).head), t, tail, correction(e, e.b.mul(x, x), kAsin));
  }
  const Folded f = fold(e, x);
  const Value w = correction(e, f.z, kAsin);
  // near: pi/2 - asin(x); far: 2 asin(s) for x > 0, pi - 2 asin(s) for x < 0.
  const Value negative = e.b.lt(x, e.k(0));
  const Value size = e.b.select(f.far, e.b.add(f.s, f.s), f.s);
  const Value minus = e.b.select(negative, e.b.select(f.far, e.k(-0.0), e.k(0)), e.b.select(f.far, e.k(0), e.k(-0.0)));
  const Value t = e.flip_sign(size, e.b.as_int(minus));
  const auto base_part = [&](double half) {
    return e.b.select(f.far, e.b.select(negative, e.k(2 * half), e.k(0)), e.k(half));
  };
  Value tail;
  if (f.lost.valid()) {
    tail = e.b.add(e.flip_sign(e.b.add(f.lost, f.lost), e.b.as_int(minus)), base_part(half_pi(e).tail));
  }
  return add_to_base(e, base_part(half_pi(e).head), t, tail, w);
}

}  // namespace trident::kir::math
