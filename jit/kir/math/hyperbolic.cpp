// sinh, cosh and tanh.
//
// sinh and cosh: |x| = n ln 2 + r; with S = 2^(n-1) + 2^(-n-1) and D = 2^(n-1) - 2^(-n-1)
//   sinh(x) = D cosh(r) + S sinh(r),  cosh(x) = S cosh(r) + D sinh(r),
// where the polynomials of r are short and n = 0 leaves sinh(r) itself.
//
// tanh: E / (E + 2) with E = e^(2|x|) - 1; where the class allows, one odd polynomial for |x| up to 1, or x times a
// rational function of x^2 up to 2, split into a constant and a small quotient whose roundings matter less.
#include <algorithm>
#include <cmath>

#include "jit/kir/math/coefficients/hyperbolic.h"
#include "jit/kir/math/exp.h"

namespace trident::kir::math {

namespace {

constexpr CoefficientSets kSinh = {kSinhF32Ulp1, kSinhF32Ulp1, kSinhF64Ulp1, kSinhF64Ulp1, kSinhF32Rel3};
constexpr CoefficientSets kCosh = {kCoshF32Ulp1, kCoshF32Ulp1, kCoshF64Ulp1, kCoshF64Ulp1, kCoshF32Rel3};

struct Hyperbolic {
  ExpReduced a;
  Value square;
  Value large;  ///< 2^(n-1) or 2^(n-2) when halved
  Value small;  ///< 2^(-n-1) or 2^(-n-2)
  bool halved;  ///< results must be doubled
};

Hyperbolic reduce_hyperbolic(Expansion& e, Value x, const Range& range) {
  const double overflow = e.by_type(89.5, 710.6);
  Hyperbolic h;
  h.halved = magnitude(range) > e.by_type(87.9, 709.0);
  if (!(magnitude(range) <= overflow)) x = e.b.min(e.k(overflow), x);
  h.a = reduce_exp(e, x, std::min(magnitude(range), overflow), true);
  h.square = e.b.mul(h.a.r, h.a.r);
  h.large = power_of_two(e, h.a.magic_sum, h.halved ? -2 : -1);
  // 2^(-n): the exponent bits of 2^(n-1) reflected about those of 1/2.
  const std::int64_t half = e.by_type<std::int64_t>(0x3F00'0000, 0x3FE0'0000'0000'0000);
  const std::int64_t centre = 2 * (half - (h.halved ? std::int64_t{1} << e.mantissa_bits() : 0));
  Value bits = e.b.sub(e.ki(centre), e.b.as_int(h.large));
  if (magnitude(range) > e.by_type(86.0, 707.0)) bits = e.b.max(bits, e.ki(0));  // too small to matter: 0
  h.small = e.b.as_float(bits);
  return h;
}

/// even * (1 + c) + odd * (r + s) with c = cosh(r) - 1 and s = sinh(r) - r; even and odd are large +- small.
Value combine(Expansion& e, const Hyperbolic& h, bool is_cosh) {
  const Value sum = e.b.add(h.large, h.small), difference = e.b.sub(h.large, h.small);
  const Value even = is_cosh ? sum : difference, odd = is_cosh ? difference : sum;
  const Value c = e.b.mul(e.horner(h.square, e.pick(kCosh)), h.square);
  const Value w = e.horner_onto(h.square, e.pick(kSinh), e.k(0));
  if (!e.ulp1()) return e.b.fma(odd, e.b.fma(w, h.a.r, h.a.r), e.b.fma(even, c, even));
  const Value head = e.b.fma(odd, h.a.r, even);
  Value lost = e.b.fms(odd, h.a.r, e.b.sub(head, even));
  // Rounding error of large +- small: half an ulp at worst, near n = 12 (f32) and 26 (f64).
  const Value even_lost = is_cosh ? e.b.sub(e.b.sub(even, h.large), h.small) : e.b.add(e.b.sub(even, h.large), h.small);
  lost = e.b.sub(lost, even_lost);
  Value s = e.b.mul(w, h.a.r);
  if (h.a.negated_tail.valid()) s = e.b.sub(s, h.a.negated_tail);
  return e.b.add(head, e.b.fma(odd, s, e.b.fma(even, c, lost)));
}

}  // namespace

Value emit_cosh(Expansion& e, Value x, const Range& range) {
  const Hyperbolic h = reduce_hyperbolic(e, e.b.abs(x), range);
  const Value result = combine(e, h, true);
  return h.halved ? e.b.add(result, result) : result;
}

Value emit_sinh(Expansion& e, Value x, const Range& range) {
  const Value a = e.b.abs(x);
  const Hyperbolic h = reduce_hyperbolic(e, a, range);
  Value result = combine(e, h, false);
  if (h.halved) {
    result = e.b.add(result, result);
    result = e.b.select(e.b.lt(a, e.k(e.least_normal() * 4)), a, result);  // halving would lose a bit of a denormal
  }
  return e.flip_sign(result, e.sign_of(x));
}

Value emit_tanh(Expansion& e, Value x, const Range& range) {
  static constexpr CoefficientSets kTo1 = {{}, kTanhTo1F32Ulp4, {}, {}, kTanhTo1F32Rel3};
  static constexpr CoefficientSets kTo2Dividend = {{}, kTanhTo2F32Ulp4N, {}, kTanhTo2F64Ulp4N, kTanhTo2F32Ulp4N};
  static constexpr CoefficientSets kTo2Divisor = {{}, kTanhTo2F32Ulp4Q, {}, kTanhTo2F64Ulp4Q, kTanhTo2F32Ulp4Q};
  if (magnitude(range) <= 1 && !range.may_be_nan) {
    const auto c = e.pick(kTo1);
    if (!c.empty()) return e.odd(x, e.b.mul(x, x), c);
  }
  if (magnitude(range) <= 2 && !range.may_be_nan && !e.ulp1()) {
    const Value square = e.b.mul(x, x);
    const Value dividend = e.horner(square, e.pick(kTo2Dividend));
    const Value divisor = e.horner_onto(square, e.pick(kTo2Divisor), e.k(1));
    const Value quotient = e.b.div(dividend, divisor, kNormal);
    return e.b.fma(x, e.k(kTanhTo2Constant), e.b.mul(x, quotient));
  }
  // From the saturation point on the result is 1.
  const double saturation = e.by_type(9.2, 19.2);
  Value a = e.b.abs(x);
  if (!(magnitude(range) <= saturation)) a = e.b.min(e.k(saturation), a);
  const Expm1 m = expm1_parts(e, e.b.add(a, a), 2 * std::min(magnitude(range), saturation), 0);
  const Value dividend = e.ulp1() ? e.b.add(m.head, m.tail) : m.head;
  const Value divisor = e.b.add(dividend, e.k(2));
  const Value inverse = e.b.div(e.k(1), divisor, kNormal);
  Value t = e.b.mul(dividend, inverse);
  if (e.ulp1()) {
    // Corrects the quotient by one Newton step, which takes in all rounding errors so far.
    const Value rest = e.b.add(e.b.sub(m.head, dividend), m.tail);
    const Value divisor_rest = e.b.add(e.b.sub(dividend, e.b.sub(divisor, e.k(2))), rest);
    const Value remainder = e.b.fnma(t, divisor_rest, e.b.add(e.b.fnma(t, divisor, dividend), rest));
    t = e.b.fma(remainder, inverse, t);
  }
  return e.flip_sign(t, e.sign_of(x));
}

}  // namespace trident::kir::math
