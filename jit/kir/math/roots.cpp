// rsqrt, cbrt and hypot.
//
// cbrt splits x = 2^(3k) m with m in [1/2, 4], finds r = m^(-1/3) from a polynomial by steps without a division
// (r += r (e/3 + 2/9 e^2), e = 1 - m r^3: the error is cubed), and ends with y = m r^2 corrected by (m - y^3) r^2 / 3.
// hypot scales both sides by the power of two of the greater one.
#include <cmath>

#include "jit/kir/math/coefficients/roots.h"
#include "jit/kir/math/functions.h"

namespace trident::kir::math {

namespace {

/// Squares, inverses and roots of anything in [2^-n, 2^n] stay normal, with room.
bool within(const Range& r, double least, double greatest) {
  return bounded(r) && r.lo >= least && r.hi <= greatest;
}

}  // namespace

Value emit_rsqrt(Expansion& e, Value x, const Range& range) {
  const bool ordinary = within(range, e.by_type(0x1p-80, 0x1p-700), e.by_type(0x1p80, 0x1p700));
  const std::uint8_t flags = ordinary ? kNormal : 0;
  const Value y = e.b.div(e.k(1), e.b.sqrt(x, flags), flags);
  if (!e.ulp1()) return y;
  // One Newton step on the exact residue 1 - x y^2.
  const Value h = e.b.mul(x, y);
  const Value residue = e.b.fnma(e.b.fms(x, y, h), y, e.b.fnma(h, y, e.k(1)));
  const Value better = e.b.fma(e.b.mul(y, e.k(0.5)), residue, y);
  if (ordinary) return better;
  return e.b.select(e.b.lt(e.b.abs(residue), e.k(1)), better, y);  // 0, infinity, NaN and lost denormals keep y
}

Value emit_cbrt(Expansion& e, Value x, const Range& range) {
  Value a = e.b.abs(x);
  const bool normal = bounded(range) && (range.lo >= e.least_normal() || range.hi <= -e.least_normal());
  Value tiny;
  if (!normal) {
    tiny = e.b.lt(a, e.k(e.least_normal()));
    a = e.b.select(tiny, e.b.mul(a, e.k(e.by_type(0x1p24, 0x1p54))), a);  // 24 and 54 are multiples of 3
  }
  // k = round((exponent - 1/2) / 3) through a float: the exponent is a small integer, its third is never near a half.
  const int mantissa = e.mantissa_bits();
  const int bias = e.by_type(127, 1023);
  const Value field = e.b.op(Op::Shr, e.b.as_int(a), e.ki(mantissa));
  const Value magic_bits = e.b.as_int(e.k(e.magic()));
  const Value exponent = e.b.sub(e.b.as_float(e.b.add(field, magic_bits)), e.k(e.magic() + bias));
  const Value sum = e.b.fma(exponent, e.k(1.0 / 3), e.k(e.magic()));  // k in the low bits
  const Value k = e.b.sub(e.b.as_int(sum), magic_bits);
  const Value k3 = e.b.add(k, e.b.add(k, k));
  const Value m = e.b.as_float(e.b.sub(e.b.as_int(a), e.shift_left(k3, mantissa)));  // in [1/2, 4)

  Value r = e.horner(m, kInverseCubeRoot);
  const int rounds = e.rel3() ? 1 : e.by_type(1, 2);
  for (int i = 0; i < rounds; ++i) {
    const Value residue = e.b.fnma(e.b.mul(m, r), e.b.mul(r, r), e.k(1));
    const Value step = e.b.fma(residue, e.k(2.0 / 9), e.k(1.0 / 3));
    r = e.b.fma(e.b.mul(r, residue), step, r);
  }
  const Value r2 = e.b.mul(r, r);
  Value y = e.b.mul(m, r2);
  if (!e.rel3()) {
    const Value y2 = e.b.mul(y, y);
    Value residue = e.b.fnma(y2, y, m);
    if (e.ulp1()) residue = e.b.fnma(e.b.fms(y, y, y2), y, residue);
    y = e.b.fma(e.b.mul(residue, r2), e.k(1.0 / 3), y);
  }
  Value shift = k;
  if (tiny.valid()) {
    const Value less = e.b.select(tiny, e.k(e.by_type(8.0, 18.0)), e.k(0));
    shift = e.b.sub(k, e.b.convert(Op::ToIntRint, ir::int_of(e.type), less));
  }
  Value result = e.b.as_float(e.b.add(e.b.as_int(y), e.shift_left(shift, mantissa)));
  if (!normal) {  // 0, infinity and NaN are their own cube roots
    const Value proper = e.b.op(Op::And, e.b.lt(e.k(0), a), e.b.lt(a, e.infinity()));
    result = e.b.select(proper, result, a);
  }
  return e.with_sign_of(result, x);
}

namespace {

/// sqrt(u^2 + v^2), u >= v >= 0; ulp1 adds the rounding errors of the sum and the root. Infinite and NaN u pass.
Value root_of_squares(Expansion& e, Value u, Value v, bool finite) {
  const Value v2 = e.b.mul(v, v);
  const Value sum = e.b.fma(u, u, v2);
  const Value root = e.b.sqrt(sum);
  if (!e.ulp1()) return root;
  const Value u2 = e.b.mul(u, u);
  const Value rest = e.b.add(e.b.fms(u, u, u2), e.b.fms(v, v, v2));
  const Value lost = e.b.add(e.b.add(e.b.sub(u2, sum), v2), rest);
  const Value residue = e.b.add(e.b.fnma(root, root, sum), lost);
  const Value mended = e.b.fma(e.b.div(residue, e.b.max(root, e.k(e.least_normal()))), e.k(0.5), root);
  return finite ? mended : e.b.select(e.b.lt(root, e.infinity()), mended, root);
}

}  // namespace

Value emit_hypot(Expansion& e, Value x, Value y, const Range& x_range, const Range& y_range) {
  const Value ax = e.b.abs(x), ay = e.b.abs(y);
  const double least = e.by_type(0x1p-40, 0x1p-400), greatest = e.by_type(0x1p60, 0x1p500);
  const auto away_from_zero = [&](const Range& r) { return r.lo >= least || r.hi <= -least; };
  const bool finite = bounded(x_range) && bounded(y_range);
  if (finite && magnitude(x_range) <= greatest && magnitude(y_range) <= greatest &&
      (away_from_zero(x_range) || away_from_zero(y_range)))
    return e.ulp1() ? root_of_squares(e, e.b.max(ax, ay), e.b.min(ax, ay), true)
                    : e.b.sqrt(e.b.fma(ax, ax, e.b.mul(ay, ay)));

  const Value steep = e.b.lt(ax, ay);
  const Value big = e.b.select(steep, ay, ax), small = e.b.select(steep, ax, ay);
  // Exponent bits of the greater side, kept where both they and their inverse are normal.
  const int mantissa = e.mantissa_bits();
  const std::int64_t unit = std::int64_t{1} << mantissa;
  const std::int64_t top = e.by_type<std::int64_t>(252, 2044);
  const Value bits = e.b.op(Op::And, e.b.as_int(big), e.ki(e.by_type<std::int64_t>(255, 2047) * unit));
  const Value exponent = e.b.max(e.b.min(bits, e.ki(top * unit)), e.ki(2 * unit));
  const Value scale = e.b.as_float(e.b.sub(e.ki(e.by_type<std::int64_t>(254, 2046) * unit), exponent));
  const Value u = e.b.mul(big, scale), v = e.b.mul(small, scale);
  const Value root = root_of_squares(e, u, v, false);
  Value result = e.b.mul(root, e.b.as_float(exponent));
  if (!finite) {
    const Value infinite = e.b.op(Op::Or, e.b.eq(ax, e.infinity()), e.b.eq(ay, e.infinity()));
    result = e.b.select(infinite, e.infinity(), result);
  }
  return result;
}

}  // namespace trident::kir::math
