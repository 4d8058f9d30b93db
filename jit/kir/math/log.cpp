// log, log2, log10 and log1p: x = 2^k m with m in [sqrt(1/2), sqrt(2)), f = m - 1 (exact), and log(1 + f) by one
// polynomial of f alone: no division, no table. In f64 that takes 21 coefficients, and a division is cheaper:
// log(1 + f) = 2 atanh(s) with s = f / (2 + f), written as f - s (f - s^2 P(s^2)) in class ulp4. Class ulp1 writes it
// as f - f^2/2 + s (f^2/2 + s^2 P(s^2)), as fdlibm does: the errors of s count a quarter of that. The split keeps
// |log(m)| at most log(2)/2, so that adding k log(2) never cancels into a smaller binade. log1p splits at 3/4, so that
// f is exact below 1/2 where nothing else hides an error.
//
// k is taken from the bits of x, negated (so that the final sum of a zero k and a -0 is -0, which log1p needs), and
// left scaled by 2^23 (2^52): the conversion to float then needs no shift. The constants that multiply it carry the
// inverse. log1p takes k from 1 + x but f from x itself: f = x 2^-k - (1 - 2^-k).
#include "jit/kir/math/log.h"

#include "jit/kir/math/coefficients/constants.h"
#include "jit/kir/math/coefficients/log.h"

namespace trident::kir::math {

namespace {

/// Constants of one base. log_base(1 + f) = f * slope + f^2 P(f); slope is 1 when absent. In f64, P is the series of
/// 2 atanh, which any base shares.
struct Base {
  CoefficientSets sets;
  const double *slope_f32, *slope_f64;  ///< 1 / ln(base), leading part and rest
  const double *two_f32, *two_f64;      ///< log_base(2), leading part and rest; exactly 1 when absent
};

const Base kNatural = {
    {kLogF32Ulp1, kLogF32Ulp4, kLogSeriesF64, kLogSeriesF64, kLogF32Rel3}, nullptr, nullptr, kLn2F32, kLn2F64};
const Base kNaturalOf1p = {{kLog1pF32Ulp1, kLog1pF32Ulp4, kLog1pSeriesF64, kLog1pSeriesF64, kLog1pF32Rel3},
                           nullptr,
                           nullptr,
                           kLn2F32,
                           kLn2F64};
const Base kBinary = {
    {kLog2F32Ulp1, kLog2F32Ulp4, kLogSeriesF64, kLogSeriesF64, kLog2F32Rel3}, kLog2eF32, kLog2eF64, nullptr, nullptr};
const Base kDecimal = {{kLog10F32Ulp1, kLog10F32Ulp4, kLogSeriesF64, kLogSeriesF64, kLog10F32Rel3},
                       kLog10eF32,
                       kLog10eF64,
                       kLog10Of2F32,
                       kLog10Of2F64};

/// Returns -k, scaled by 2^mantissa_bits, as an integer: added to the bits of x it brings x into [least, 2 least).
Value negated_exponent(Expansion& e, Value x, double least) {
  const std::int64_t unit = std::int64_t{1} << e.mantissa_bits();
  const std::int64_t bits =
      e.single() ? std::bit_cast<std::int32_t>(static_cast<float>(least)) : std::bit_cast<std::int64_t>(least);
  return e.b.op(Op::And, e.b.sub(e.ki(bits + unit - 1), e.b.as_int(x)), e.ki(-unit));
}

bool divides(const Expansion& e) {
  return !e.single() && !e.rel3();
}

Value atanh_argument(Expansion& e, Value f) {
  return e.b.mul(f, e.b.div(e.k(1), e.b.add(f, e.k(2)), kNormal));
}

/// log(1 + f) by the series of 2 atanh(s) = f - s f + s^3 P(s^2).
Value by_series(Expansion& e, Value f, std::span<const double> series) {
  const Value s = atanh_argument(e, f);
  const Value z = e.b.mul(s, s);
  return e.b.fnma(s, e.b.fnma(z, e.horner(z, series), f), f);
}

/// log_base(1 + f) - head + `tail` (where valid) by the same series, where head is f * slope, rounded:
/// slope s (f^2/2 + s^2 P(s^2)) - f/2 head. That product with head is not rounded.
Value bend_by_series(Expansion& e, Value f, Value head, const double* slope, std::span<const double> series,
                     Value tail) {
  const Value s = atanh_argument(e, f);
  const Value z = e.b.mul(s, s);
  const Value half = e.b.mul(f, e.k(0.5));
  const Value sum = e.b.fma(z, e.horner(z, series), e.b.mul(half, f));
  const Value sloped = slope == nullptr ? s : e.b.mul(s, e.k(slope[0]));
  return e.b.fnma(half, head, tail.valid() ? e.b.fma(sloped, sum, tail) : e.b.mul(sloped, sum));
}

/// Returns what the rounding of f * slope to `head` leaves out of log_base(1 + f).
Value rest_of_slope(Expansion& e, const double* slope, Value f, Value head) {
  const Value rest = e.b.fma(f, e.k(slope[1]), e.b.fms(f, e.k(slope[0]), head));
  return divides(e) ? e.b.fnma(e.b.mul(f, e.k(0.5)), rest, rest) : rest;
}

/// log_base(2^k (1 + f)), nk = -k as a float scaled by 2^mantissa_bits. `small` is added where valid (ulp1).
Value combine(Expansion& e, const Base& base, Value f, Value nk, Value small = {}) {
  const double unscale = -e.by_type(0x1p-23, 0x1p-52);
  const double* slope = e.by_type(base.slope_f32, base.slope_f64);
  const double* two = e.by_type(base.two_f32, base.two_f64);
  const auto add_exponent = [&](Value p) { return e.b.fma(nk, e.k(two == nullptr ? unscale : two[0] * unscale), p); };
  if (divides(e) && !e.ulp1()) {
    const Value log = by_series(e, f, e.pick(base.sets));
    return add_exponent(slope == nullptr ? log : e.b.mul(log, e.k(slope[0])));
  }
  const Value head = slope == nullptr ? f : e.b.mul(f, e.k(slope[0]));
  if (!e.ulp1() || (slope == nullptr && e.single() && !small.valid()))  // ln(2) rounded to f32 is close enough by luck
    return add_exponent(e.b.fma(e.b.mul(f, f), e.horner(f, e.pick(base.sets)), head));
  // ulp1: the leading part of f * slope is rounded once, everything smaller is gathered beside it.
  Value tail = slope == nullptr ? small : rest_of_slope(e, slope, f, head);
  if (two != nullptr) {
    const Value rest = e.k(two[1] * unscale);
    tail = tail.valid() ? e.b.fma(nk, rest, tail) : e.b.mul(nk, rest);
  }
  const auto c = e.pick(base.sets);
  return add_exponent(e.b.add(
      head, divides(e) ? bend_by_series(e, f, head, slope, c, tail) : e.b.fma(e.b.mul(f, f), e.horner(f, c), tail)));
}

/// `result` where the argument of the logarithm is positive and finite; `argument` is x or 1 + x.
Value with_specials(Expansion& e, Value result, Value argument, double lo, double hi, bool may_be_nan) {
  if (hi == std::numeric_limits<double>::infinity() || may_be_nan)
    result = e.b.select(e.b.lt(argument, e.infinity()), result, argument);  // infinity and NaN stay
  if (lo <= 0) {
    const Value pole = e.b.select(e.b.eq(argument, e.k(0)), e.k(-std::numeric_limits<double>::infinity()), e.nan());
    result = e.b.select(e.b.lt(e.k(0), argument), result, pole);
  }
  return result;
}

Value emit_log_base(Expansion& e, const Base& base, Value x, const Range& range) {
  Value normal = x;
  Value shift;
  if (range.lo < e.least_normal()) {
    const double scale = e.by_type(0x1p24, 0x1p54);
    const Value tiny = e.b.lt(x, e.k(e.least_normal()));
    normal = e.b.select(tiny, e.b.mul(x, e.k(scale)), x);
    shift = e.b.select(tiny, e.k(e.by_type(24 * 0x1p23, 54 * 0x1p52)), e.k(0));
  }
  const Value exponent = negated_exponent(e, normal, 0x1.6a09e667f3bcdp-1);
  const Value f = e.b.sub(e.b.as_float(e.b.op(Op::Add, e.b.as_int(normal), exponent)), e.k(1));
  Value nk = e.b.convert(Op::Convert, e.type, exponent);
  if (shift.valid()) nk = e.b.add(nk, shift);
  return with_specials(e, combine(e, base, f, nk), x, range.lo, range.hi, range.may_be_nan);
}

}  // namespace

Value emit_log(Expansion& e, Value x, const Range& range) {
  return emit_log_base(e, kNatural, x, range);
}

Value emit_log2(Expansion& e, Value x, const Range& range) {
  return emit_log_base(e, kBinary, x, range);
}

Value emit_log10(Expansion& e, Value x, const Range& range) {
  return emit_log_base(e, kDecimal, x, range);
}

Value emit_log1p(Expansion& e, Value x, const Range& range) {
  if (!range.may_be_nan && range.lo >= -0.25 && range.hi <= 0.5) {
    const auto c = e.pick(kNaturalOf1p.sets);
    if (!divides(e)) return e.b.fma(e.b.mul(x, x), e.horner(x, c), x);
    return e.ulp1() ? e.b.add(x, bend_by_series(e, x, x, nullptr, c, {})) : by_series(e, x, c);
  }
  return log1p_of_parts(e, {.head = x, .tail = {}, .doubled = {}}, range);
}

Value log1p_of_parts(Expansion& e, const Log1pArgument& x, const Range& range) {
  const Value argument = e.b.add(x.head, e.k(1));
  const Value exponent = negated_exponent(e, argument, 0.75);
  const Value quarter = e.b.as_float(e.b.op(Op::Add, e.b.as_int(e.k(4)), exponent));  // 4 * 2^-k: normal for every k
  const Value scaled = e.b.as_float(e.b.op(Op::Add, e.b.as_int(x.head), exponent));   // k = 0 wherever x is denormal
  const Value f = e.b.sub(scaled, e.b.fnma(quarter, e.k(0.25), e.k(1)));
  Value nk = e.b.convert(Op::Convert, e.type, exponent);
  if (x.doubled.valid()) nk = e.b.sub(nk, e.b.select(x.doubled, e.k(e.by_type(0x1p23, 0x1p52)), e.k(0)));
  Value small;
  if (x.tail.valid()) small = e.b.mul(e.b.mul(x.tail, e.b.mul(quarter, e.k(0.25))), e.horner(f, kSlope1p));
  return with_specials(e, combine(e, kNaturalOf1p, f, nk, small), argument, 1 + range.lo, range.hi, range.may_be_nan);
}

}  // namespace trident::kir::math
