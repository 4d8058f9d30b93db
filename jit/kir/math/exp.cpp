// exp and exp2: x = n ln 2 + r with |r| <= ln(2)/2, then 2^n p(r).
//
// n comes from adding 1.5 * 2^23 (2^52), which rounds to an integer and leaves n in the low bits of the sum, where the
// exponent can be raised with one shift and one integer addition. That needs a normal, finite result: proven by the
// range, or else Scalef does it, with overflow, gradual underflow and NaN in the same op. x is clamped only where it
// may be so large that n would not fit into the op's flags any more; the clamps keep a NaN.
//
// f64 of class ulp4 takes n in eighths instead: 2^n = 2^(h + j/8), whose mantissa comes from a table of eight entries,
// one or two permutations of registers. |r| <= ln(2)/16 needs four coefficients less, and the error is 1.2 ulp. An
// entry holds the bits of 2^(j/8) less j in the top bits of the mantissa, so that n in place is added as it is.
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

Reach power_reach(const Expansion& e, const Range& range, double log2_base) {
  if (normal_result(e, range, log2_base)) return Reach::normal;
  return range.hi * log2_base < e.by_type(58.0, 506.0) ? Reach::falling : Reach::bounded;
}

/// p 2^n for p within [1/2, 2], where 2^n is the power of a number of the range, clamped, without its fraction.
Value scale(Expansion& e, Value p, Value magic_sum, Value n, const Range& range, double log2_base) {
  const Reach reach = power_reach(e, range, log2_base);
  if (reach == Reach::normal && !range.may_be_nan) return e.raise_exponent(p, magic_sum);
  const std::uint8_t flag = reach == Reach::normal ? kNormal : reach == Reach::falling ? kFalling : kBounded;
  return e.b.op(Op::Scalef, p, n, {}, flag);
}

constexpr int kMantissaBits = 52, kEighthBits = 3;

/// The table of scale_by_eighths, its exponents raised by `shift`.
std::uint32_t table_of_eighths(Expansion& e, std::uint64_t shift) {
  Table table{Type::i64, {}};
  for (std::uint64_t j = 0; j < std::size(kEighthRoots); ++j)
    table.entries.push_back(std::bit_cast<std::uint64_t>(kEighthRoots[j]) + (shift << kMantissaBits) -
                            (j << (kMantissaBits - kEighthBits)));
  return e.b.add_table(std::move(table));
}

}  // namespace

Value scale_by_eighths(Expansion& e, Value magic_sum, Value q, Reach reach) {
  constexpr std::uint64_t kRaised = 64;  // for results that fall below the normal numbers
  const Value eighths = e.b.as_int(magic_sum);
  const Value j = e.b.op(Op::And, eighths, e.ki((1 << kEighthBits) - 1));
  const Value root = e.b.lookup(table_of_eighths(e, reach == Reach::falling ? kRaised : 0), j);
  const Value raise = e.shift_left(eighths, kMantissaBits - kEighthBits);
  const auto times_power = [&](Value bits) {
    const Value power = e.b.as_float(e.b.op(Op::Add, root, bits));
    return e.b.fma(power, q, power);
  };
  if (reach == Reach::normal) return times_power(raise);
  if (reach == Reach::falling) return e.b.mul(times_power(raise), e.k(std::ldexp(1.0, -static_cast<int>(kRaised))));
  // By two powers, the greater part of n last: of the sum's upper bits only those of its half go into the exponent.
  const Value half = e.b.op(Op::Shr, eighths, e.ki(kEighthBits + 1));
  const Value half_raise = e.shift_left(half, kMantissaBits);
  const Value first = times_power(e.b.sub(raise, half_raise));
  return e.b.mul(first, e.b.as_float(e.b.op(Op::Add, half_raise, e.b.as_int(e.k(1)))));
}

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

ExpReduced reduce_exp(Expansion& e, Value x, double magnitude, bool with_tail, double unit) {
  ExpReduced out;
  const Value magic = e.k(unit * e.magic());
  out.magic_sum = e.b.fma(x, e.k(e.by_type(kLog2eF32, kLog2eF64)[0]), magic);
  out.n = e.b.sub(out.magic_sum, magic);
  const double* ln2 = e.by_type(kLn2F32, kLn2F64);
  // n * ln2[1] shifts the result by that relative amount: dropped below a part of the class's slack.
  const double n_max = std::min(e.by_type(150.0, 1075.0), unit * std::floor(magnitude * 1.4427 / unit + 0.5));
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
  static constexpr CoefficientSets kSets = {kExpF32Ulp1, kExpF32Ulp4, kExpF64Ulp1, {}, kExpF32Rel3};
  const double limit = e.by_type(kExponentF32, kExponentF64) / kLog2eF64[0];
  if (!normal_result(e, range, kLog2eF64[0])) x = clamp(e, x, range, -limit, limit);
  if (by_eighths(e)) {
    const ExpReduced a = reduce_exp(e, x, magnitude(range), false, kEighthStep);
    const Value q = e.b.mul(e.horner_onto(a.r, kExpEighthsF64, e.k(1)), a.r);
    return scale_by_eighths(e, a.magic_sum, q, power_reach(e, range, kLog2eF64[0]));
  }
  const ExpReduced a = reduce_exp(e, x, magnitude(range), false);
  const Value p = e.b.fma(e.horner_onto(a.r, e.pick(kSets), e.k(1)), a.r, e.k(1));
  return scale(e, p, a.magic_sum, a.n, range, kLog2eF64[0]);
}

Value emit_exp2(Expansion& e, Value x, const Range& range) {
  static constexpr CoefficientSets kSets = {kExp2F32Ulp1, kExp2F32Ulp4, kExp2F64Ulp1, {}, kExp2F32Rel3};
  const double limit = e.by_type(kExponentF32, kExponentF64);
  if (!normal_result(e, range, 1)) x = clamp(e, x, range, -limit, limit);
  const Value magic = e.k((by_eighths(e) ? kEighthStep : 1) * e.magic());
  const Value t = e.b.add(x, magic);
  const Value n = e.b.sub(t, magic);
  const Value r = e.b.sub(x, n);
  if (by_eighths(e)) return scale_by_eighths(e, t, e.b.mul(e.horner(r, kExp2EighthsF64), r), power_reach(e, range, 1));
  const Value p = e.horner_onto(r, e.pick(kSets), e.k(1));
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
