// Reduces arguments of any size modulo pi/2, after Payne and Hanek. Only some digits of 1 / (2 pi), times x, give
// fractions of a turn; the others give whole turns and are dropped. A table by the exponent of x holds the remaining
// digits in parts. The angle is x times the parts, summed as exactly as the nearest multiple of pi/2 to a float
// demands.
//
// f64: four parts of 53 bits. The closest a double comes to a multiple of pi/2 is 2^-62, so the sum must be exact to
//      2^-117 of a turn: error-free sums of the products and of their rounding errors.
// f32: two parts of 29 bits, whose products with x are exact in f64, and one of 53; a float stays 2^-30 away from the
//      multiples. Two vectors of f64 to one of f32, and still cheaper than sums of floats in parts.
//
// The angle is that of |x|: the caller puts the sign back, which also keeps the sign of a zero.
#include "jit/kir/math/coefficients/payne_hanek.h"

#include <bit>

#include "jit/kir/math/trig.h"

namespace trident::kir::math {

namespace {

constexpr double kTwoPi = 0x1.921fb54442d18p2, kTwoPiRest = 0x1.1a62633145c07p-52;

/// high + low = a + b exactly.
struct Sum {
  Value high, low;
};
Sum two_sum(Builder& b, Value x, Value y) {
  const Value s = b.add(x, y);
  const Value y_part = b.sub(s, x);
  const Value x_part = b.sub(s, y_part);
  return {s, b.add(b.sub(x, x_part), b.sub(y, y_part))};
}
/// Returns a + b as Sum does, for |x| >= |y| or x = 0.
Sum fast_two_sum(Builder& b, Value x, Value y) {
  const Value s = b.add(x, y);
  return {s, b.sub(y, b.sub(s, x))};
}

std::uint32_t table_of(Builder& b, std::span<const double> entries) {
  Table table{Type::f64, {}};
  for (const double entry : entries) table.entries.push_back(std::bit_cast<std::uint64_t>(entry));
  return b.add_table(std::move(table));
}

/// Says which group of `binades` binades |x| is in; the first also takes everything smaller. x is an f64.
Value group_of(Builder& b, Value a, int shift, int groups) {
  const Value bits = b.as_int(b.max(b.constant(Type::f64, 2), a));
  const Value group = b.op(Op::Shr, bits, b.constant_int(Type::i64, shift));
  return b.op(Op::And, group, b.constant_int(Type::i64, groups - 1));
}

Value without_turns(Builder& b, Value turns) {
  return b.sub(turns, b.rint(turns));
}

Reduced reduce_f64(Expansion& e, Value a) {
  Builder& b = e.b;
  const Value group = group_of(b, a, 52 + 5, 32);
  const auto part = [&](std::span<const double> entries) { return b.lookup(table_of(b, entries), group); };
  const Value w0 = part(kTurnsF64Part0), w1 = part(kTurnsF64Part1);
  const Value w2 = part(kTurnsF64Part2), w3 = part(kTurnsF64Part3);
  const Value scaled = b.mul(a, e.k(0x1p-200));
  const Value p0 = b.mul(a, w0), p1 = b.mul(a, w1), p2 = b.mul(scaled, w2), p3 = b.mul(scaled, w3);
  const Value l0 = b.fms(a, w0, p0), l1 = b.fms(a, w1, p1), l2 = b.fms(scaled, w2, p2);

  const Sum s = fast_two_sum(b, without_turns(b, p0), without_turns(b, l0));
  const Sum main = two_sum(b, s.high, without_turns(b, p1));
  const Value t = b.fma(main.high, e.k(4), e.k(e.magic()));
  const Value n = b.sub(t, e.k(e.magic()));
  const Value v = b.fnma(n, e.k(0.25), main.high);  // exact

  const Sum small = two_sum(b, l1, p2);
  const Sum upper = two_sum(b, v, small.high);
  const Sum errors = two_sum(b, s.low, main.low);
  const Sum turns = two_sum(b, upper.high, errors.high);
  Value rest = b.add(b.add(small.low, l2), p3);
  rest = b.add(b.add(turns.low, upper.low), b.add(errors.low, rest));

  const Value r = b.mul(turns.high, e.k(kTwoPi));
  const Value r_rest = b.fma(turns.high, e.k(kTwoPiRest), b.fms(turns.high, e.k(kTwoPi), r));
  const Value tail = b.fma(rest, e.k(kTwoPi), r_rest);
  // Below pi/4 the argument is its own remainder, denormals too; n is 0 there.
  const Value small_angle = b.lt(a, e.k(0.785));
  const Sum sum = fast_two_sum(b, r, tail);
  Value negated_tail;
  if (e.ulp1()) negated_tail = b.select(small_angle, e.k(0), b.neg(sum.low));
  return {b.select(small_angle, a, sum.high), negated_tail, b.as_int(t), {}};
}

Reduced reduce_f32(Expansion& e, Value a) {
  Builder& b = e.b;
  const auto k = [&](double value) { return b.constant(Type::f64, value); };
  const Value x = b.convert(Op::Convert, Type::f64, a);
  const Value group = group_of(b, x, 52 + 3, 16);
  const auto part = [&](std::span<const double> entries) { return b.lookup(table_of(b, entries), group); };
  const Value p0 = without_turns(b, b.mul(x, part(kTurnsF32Part0)));
  const Value p1 = b.mul(x, part(kTurnsF32Part1));
  const Value n = b.rint(b.mul(b.add(p0, p1), k(4)));
  const Value v = b.add(b.fnma(n, k(0.25), p0), p1);
  const Value r = b.mul(b.fma(x, part(kTurnsF32Part2), v), k(kTwoPi));

  Reduced out;
  out.r = b.convert(Op::Convert, Type::f32, r);
  if (e.ulp1())
    out.negated_tail = b.convert(Op::Convert, Type::f32, b.sub(b.convert(Op::Convert, Type::f64, out.r), r));
  out.quotient = b.as_int(b.add(b.convert(Op::Convert, Type::f32, n), e.k(e.magic())));
  return out;
}

}  // namespace

Reduced reduce_huge(Expansion& e, Value x) {
  const Value a = e.b.abs(x);
  Reduced out = e.single() ? reduce_f32(e, a) : reduce_f64(e, a);
  out.sign = e.sign_of(x);
  return out;
}

}  // namespace trident::kir::math
