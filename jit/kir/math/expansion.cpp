#include "jit/kir/math/expansion.h"

namespace trident::kir::math {

Value Expansion::horner(Value x, std::span<const double> c) {
  Value p = k(c.back());
  for (std::size_t i = c.size() - 1; i-- > 0;) p = b.fma(p, x, k(c[i]));
  return p;
}

Value Expansion::odd(Value x, Value x2, std::span<const double> c) {
  return b.fma(horner_onto(x2, c, k(0)), x, x);
}

Value Expansion::raise_exponent(Value a, Value magic_sum) {
  const Value bits = shift_left(b.as_int(magic_sum), mantissa_bits());
  return b.as_float(b.op(Op::Add, b.as_int(a), bits));
}

}  // namespace trident::kir::math
