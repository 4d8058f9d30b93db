// pow: 2^(y log2 |x|), with log2 in two parts so that y may multiply it without losing the result's last bits.
//
//   |x| = 2^k m, m in [sqrt(1/2), sqrt(2)); s = (m - 1) / (m + 1) with the rounding error of the division;
//   log2(m) = 2/ln(2) atanh(s) = 2/ln(2) (s + s^3/3 + ...): the cubic term is at most a hundredth of the first, so it
//   needs few bits more than the type has. A bound on |y log2 m| from the ranges decides how many, for k is exact:
//   below 4 (ulp1; ulp4: 36) the series beyond s is summed in one float, above that its first term is carried in two.
//   f64 of class ulp4 takes log2 m as one float where the bound is below 1: its 2.6 units, u = half an ulp, are less
//   than 2 u of the result then.
//   Plain log2 and exp2 suffice where `reach`, a bound on |y log2 x|, is tiny or the class coarse.
//
// Signs, zeros, infinities and NaN cost about twenty ops more. Each is taken care of where the ranges let it occur.
#include <cmath>

#include "jit/kir/math/coefficients/exp.h"
#include "jit/kir/math/coefficients/pow.h"
#include "jit/kir/math/exp.h"

namespace trident::kir::math {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// |y log2 m| up to which the plain series is accurate enough for 1 ulp and 4 ulp, and reach up to which plain log2 and
/// exp2 are for 4 ulp.
constexpr double kSeriesReachUlp1 = 4, kSeriesReachUlp4 = 36, kPlainReach = 3;
/// |y log2 m| up to which f64 of 4 ulp needs log2 m as one float only.
constexpr double kRoundedReach = 1;

/// How log2 m is held.
enum class Detail : std::uint8_t {
  rounded,  ///< as one float
  paired,   ///< in two; s is in two as well
  precise,  ///< and so is the cubic term of its series
};
Detail detail_of(const Expansion& e, double reach) {
  if (!e.single() && !e.ulp1() && reach <= kRoundedReach) return Detail::rounded;
  return reach > (e.ulp1() ? kSeriesReachUlp1 : kSeriesReachUlp4) ? Detail::precise : Detail::paired;
}

/// An unevaluated sum, |low| at most about an ulp of high.
struct Pair {
  Value high, low;
};

/// Greatest |y log2 x| that can give a finite normal result or occur in the ranges.
double reach_of(const Expansion& e, const Range& x, const Range& y) {
  const double limit = e.by_type(150.0, 1080.0);
  if (!bounded(y) || x.may_be_nan || !(x.lo > 0) || x.hi == kInfinity) return limit;
  const double log = std::fmax(std::fabs(std::log2(x.lo)), std::fabs(std::log2(x.hi)));
  return std::fmin(limit, log * magnitude(y) + 1e-9);
}

/// atanh(s) * 2 / ln(2) of s.high + s.low.
Pair scaled_atanh(Expansion& e, Pair s, bool precise) {
  const double* c = e.by_type(kTwoLog2eF32, kTwoLog2eF64);
  const Value z = e.b.mul(s.high, s.high);
  Value head = s.high, tail;
  if (!precise) {
    static constexpr CoefficientSets kAtanh = {kAtanhF32, kAtanhF32, kAtanhF64, kAtanhF64Ulp4, kAtanhF32};
    const Value w = e.horner_onto(z, e.pick(kAtanh), e.k(0));
    const Value rest = e.b.fma(s.high, w, s.low);
    head = e.b.add(s.high, rest);
    tail = e.b.add(e.b.sub(s.high, head), rest);
  } else {
    const double* third = e.by_type(kThirdF32, kThirdF64);
    const Value z_low = e.b.fma(e.b.add(s.high, s.high), s.low, e.b.fms(s.high, s.high, z));
    Value w = e.b.mul(z, e.k(third[0]));
    Value w_low = e.b.fma(z, e.k(third[1]), e.b.fms(z, e.k(third[0]), w));
    w_low = e.b.fma(z_low, e.k(third[0]), w_low);
    static constexpr CoefficientSets kTail = {kAtanhTailF32, kAtanhTailF32, kAtanhTailF64, kAtanhTailF64Ulp4,
                                              kAtanhTailF32};
    const Value series = e.horner(z, e.pick(kTail));
    // The rest of the series is up to 1e-4: brought into w, so that the low parts stay about an ulp.
    w_low = e.b.fma(e.b.mul(z, z), series, w_low);
    const Value w_first = w;
    w = e.b.add(w_first, w_low);
    w_low = e.b.add(e.b.sub(w_first, w), w_low);
    const Value p = e.b.mul(s.high, w);  // w is that of s.high + s.low already (through z_low)
    const Value p_low = e.b.fma(s.high, w_low, e.b.fms(s.high, w, p));
    head = e.b.add(s.high, p);
    tail = e.b.add(e.b.add(e.b.sub(s.high, head), p), e.b.fma(s.low, e.b.add(w, e.k(1)), p_low));
  }
  const Value high = e.b.mul(head, e.k(c[0]));
  const Value low = e.b.fma(head, e.k(c[1]), e.b.fms(head, e.k(c[0]), high));
  return {high, e.b.fma(tail, e.k(c[0]), low)};
}

/// atanh(s) * 2 / ln(2), rounded (f64).
Value rounded_atanh(Expansion& e, Value s) {
  const Value w = e.horner_onto(e.b.mul(s, s), kAtanhF64Ulp4, e.k(0));
  return e.b.mul(e.b.fma(s, w, s), e.k(kTwoLog2eF64[0]));
}

/// log2 of a positive finite number; `normal` says that denormals do not occur.
Pair log2_in_two(Expansion& e, Value a, bool normal, Detail detail) {
  Value shift;
  if (!normal) {
    const Value tiny = e.b.lt(a, e.k(e.least_normal()));
    a = e.b.select(tiny, e.b.mul(a, e.k(e.by_type(0x1p24, 0x1p54))), a);
    shift = e.b.select(tiny, e.k(e.by_type(24.0, 54.0)), e.k(0));
  }
  const std::int64_t unit = std::int64_t{1} << e.mantissa_bits();
  const std::int64_t bits =
      e.single() ? std::bit_cast<std::int32_t>(0x1.6a09e6p-1f) : std::bit_cast<std::int64_t>(0x1.6a09e667f3bcdp-1);
  const Value exponent = e.b.op(Op::And, e.b.sub(e.b.as_int(a), e.ki(bits)), e.ki(-unit));
  const Value m = e.b.as_float(e.b.sub(e.b.as_int(a), exponent));
  Value k = e.b.mul(e.b.convert(Op::Convert, e.type, exponent), e.k(e.by_type(0x1p-23, 0x1p-52)));
  if (shift.valid()) k = e.b.sub(k, shift);

  const Value f = e.b.sub(m, e.k(1));
  const Value d = e.b.add(m, e.k(1));
  const Value inverse = e.b.div(e.k(1), d, kNormal);
  Pair s;
  s.high = e.b.mul(f, inverse);
  if (detail == Detail::rounded) {
    const Value log = rounded_atanh(e, s.high);
    const Value sum = e.b.add(k, log);
    return {sum, e.b.add(e.b.sub(k, sum), log)};
  }
  const Value d_low = e.b.sub(m, e.b.sub(d, e.k(1)));
  s.low = e.b.mul(e.b.fnma(s.high, d_low, e.b.fnma(s.high, d, f)), inverse);
  const Pair log = scaled_atanh(e, s, detail == Detail::precise);
  const Value high = e.b.add(k, log.high);
  const Value low = e.b.add(e.b.add(e.b.sub(k, high), log.high), log.low);
  return {high, low};
}

/// 2^(a.high + a.low).
Value exp2_of_pair(Expansion& e, Pair a, double reach) {
  static constexpr CoefficientSets kSets = {kExp2F32Ulp1, kExp2F32Ulp4, kExp2F64Ulp1, {}, kExp2F32Rel3};
  const bool normal = reach < e.by_type(125.9, 1021.9);
  if (!normal) {
    const Value limit = e.k(e.by_type(180.0, 1080.0));
    a.low = e.b.select(e.b.lt(e.b.abs(a.high), limit), a.low, e.k(0));
    a.high = e.b.max(e.b.neg(limit), e.b.min(limit, a.high));
  }
  const Value magic = e.k((by_eighths(e) ? kEighthStep : 1) * e.magic());
  const Value t = e.b.add(a.high, magic);
  const Value n = e.b.sub(t, magic);
  const Value r = e.b.add(e.b.sub(a.high, n), a.low);
  if (by_eighths(e))
    return scale_by_eighths(e, t, e.b.mul(e.horner(r, kExp2EighthsF64), r), normal ? Reach::normal : Reach::bounded);
  const Value p = e.horner_onto(r, e.pick(kSets), e.k(1));
  return normal ? e.raise_exponent(p, t) : e.b.op(Op::Scalef, p, n, {}, kBounded);
}

/// Negates `result` = |x|^y where x is negative and y an odd number; NaN where x is and y no integer.
Value with_sign(Expansion& e, Value result, Value x, Value y) {
  const Value integer = e.b.eq(e.b.rint(y), y);
  const Value half = e.b.mul(y, e.k(0.5));
  const Value odd = e.b.op(Op::And, integer, e.b.ne(e.b.rint(half), half));
  const Value sign = e.b.select(odd, x, e.k(0));
  result = e.flip_sign(result, e.sign_of(sign));
  const Value negative = e.b.op(Op::And, e.b.lt(x, e.k(0)), e.b.lt(e.k(-kInfinity), x));
  return e.b.select(e.b.op(Op::AndNot, integer, negative), e.nan(), result);
}

bool includes(const Range& range, double x) {
  return range.lo <= x && x <= range.hi;
}

/// C99 F.10.4.4 around `result` = |x|^y, which already has the infinities and zeros of the magnitude. A NaN of y is in
/// it, one of x is not: the logarithm takes its bits for a number's.
Value with_specials(Expansion& e, Value result, Value x, Value y, const Range& x_range, const Range& y_range) {
  if (!(x_range.lo > 0)) result = with_sign(e, result, x, y);
  if (x_range.may_be_nan) result = e.b.select(e.b.ne(x, x), e.nan(), result);
  Value one;
  const auto add = [&](Value mask) { one = one.valid() ? e.b.op(Op::Or, one, mask) : mask; };
  const bool tame = x_range.lo > 0 && x_range.hi < kInfinity && !x_range.may_be_nan;
  if (!tame && includes(y_range, 0)) add(e.b.eq(y, e.k(0)));
  if (!bounded(y_range) && includes(x_range, 1)) add(e.b.eq(x, e.k(1)));
  if (!bounded(y_range) && includes(x_range, -1))
    add(e.b.op(Op::And, e.b.eq(x, e.k(-1)), e.b.eq(e.b.abs(y), e.infinity())));
  return one.valid() ? e.b.select(one, e.k(1), result) : result;
}

}  // namespace

Value emit_pow(Expansion& e, Value x, Value y, const Range& x_range, const Range& y_range) {
  const bool ordinary = x_range.lo > 0 && bounded(x_range) && bounded(y_range);
  const double reach = reach_of(e, x_range, y_range);
  // The powers of two in x are exact, and so |y| / 2 bounds |y log2 m| too.
  const Detail detail = detail_of(e, std::fmin(reach, magnitude(y_range) / 2));
  const bool plain = e.rel3() ? reach < e.by_type(120.0, 1000.0) : reach <= kPlainReach && detail != Detail::rounded;
  if (ordinary && !e.ulp1() && plain) {
    Expansion inner(e.b, e.type, e.rel3() ? Accuracy::ulp4 : Accuracy::ulp1);
    const Value exponent = e.b.mul(y, emit_log2(inner, x, x_range));
    return emit_exp2(e, exponent, {-reach, reach, false});
  }

  const Value a = x_range.lo > 0 ? x : e.b.abs(x);
  const bool normal = x_range.lo >= e.least_normal();
  Pair log = log2_in_two(e, a, normal, detail);
  if (!(x_range.lo > 0)) log.high = e.b.select(e.b.eq(a, e.k(0)), e.k(-kInfinity), log.high);
  if (magnitude(x_range) == kInfinity) log.high = e.b.select(e.b.eq(a, e.infinity()), e.infinity(), log.high);
  const Value high = e.b.mul(y, log.high);
  const Value low = e.b.fma(y, log.low, e.b.fms(y, log.high, high));
  return with_specials(e, exp2_of_pair(e, {high, low}, ordinary ? reach : kInfinity), x, y, x_range, y_range);
}

}  // namespace trident::kir::math
