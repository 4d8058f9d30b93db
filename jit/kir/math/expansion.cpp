#include "jit/kir/math/expansion.h"

namespace trident::kir::math {

namespace {

/// Polynomials of this many coefficients are slower by their latency than by their operations: a scheduler's window
/// holds too few vectors to hide it.
constexpr std::size_t kLong = 12;

/// c[first] + c[first + step] x + ... by Horner's rule.
Value every(Expansion& e, Value x, std::span<const double> c, std::size_t first, std::size_t step) {
  std::size_t i = first + (c.size() - 1 - first) / step * step;
  Value p = e.k(c[i]);
  while (i > first) p = e.b.fma(p, x, e.k(c[i -= step]));
  return p;
}

}  // namespace

Value Expansion::horner(Value x, std::span<const double> c) {
  if (ulp1() || c.size() < kLong) return every(*this, x, c, 0, 1);
  const Value square = b.mul(x, x);
  const auto rest = c.subspan(1);
  const Value p = b.fma(every(*this, square, rest, 1, 2), x, every(*this, square, rest, 0, 2));
  return b.fma(p, x, k(c[0]));  // last, as one rounding: the two sums may cancel
}

Value Expansion::odd(Value x, Value x2, std::span<const double> c) {
  return b.fma(horner_onto(x2, c, k(0)), x, x);
}

Value Expansion::raise_exponent(Value a, Value magic_sum) {
  const Value bits = shift_left(b.as_int(magic_sum), mantissa_bits());
  return b.as_float(b.op(Op::Add, b.as_int(a), bits));
}

}  // namespace trident::kir::math
