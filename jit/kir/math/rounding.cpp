// round, fmod: exact functions.
//
// round adds the greatest number below 1/2 with the sign of x and truncates: the sum rounds to the right side of every
// integer, also where x has no fraction bits left.
//
// fmod divides like a pupil: the divisor is raised by 2^(22 j) (2^(51 j)), and for each j from the top a quotient digit
// of that many bits is subtracted with one exact fma. Where the digit came out one too large the divisor is added back.
// The number of steps follows from the range: one or two for ranges of ordinary size, 13 (f32) or 42 (f64) for all
// numbers.
#include <cmath>

#include "jit/kir/math/functions.h"

namespace trident::kir::math {

Value emit_round(Expansion& e, Value x) {
  const Value below_half = e.k(e.by_type(0x1.fffffep-2, 0x1.fffffffffffffp-2));
  const Value nudge = e.with_sign_of(below_half, x);
  return e.b.op(Op::Trunc, e.b.add(x, nudge));
}

Value emit_fmod(Expansion& e, Value x, Value y, const Range& x_range, const Range& y_range) {
  const int digit_bits = e.by_type(22, 51);
  const double least = e.by_type(0x1p-149, 0x1p-1074), greatest = e.by_type(0x1p128, 0x1p1023);
  double y_least = y_range.lo > 0 ? y_range.lo : y_range.hi < 0 ? -y_range.hi : least;
  if (y_range.may_be_nan || !(y_least > least)) y_least = least;
  y_least = std::fmin(y_least, greatest);  // one step at least, which makes NaN of an infinite x
  const double x_greatest = bounded(x_range) ? magnitude(x_range) : greatest;
  const double bits = std::log2(std::fmax(x_greatest, y_least)) - std::log2(y_least) + 1;
  const int steps = 1 + static_cast<int>(bits / digit_bits);

  const Value divisor = e.b.abs(y);
  Value r = e.b.abs(x);
  for (int j = steps - 1; j >= 0; --j) {
    Value raised = divisor;  // infinite when out of range: then r is smaller, and nothing is taken off
    for (int left = j * digit_bits; left > 0;) {
      const int exponent = std::min(left, e.by_type(100, 1000));
      raised = e.b.mul(raised, e.k(std::ldexp(1.0, exponent)));
      left -= exponent;
    }
    const Value digit = e.b.op(Op::Trunc, e.b.div(r, raised));
    const Value reduced = e.b.fnma(digit, raised, r);
    const Value mended = e.b.select(e.b.lt(reduced, e.k(0)), e.b.add(reduced, raised), reduced);
    r = e.b.select(e.b.lt(r, raised), r, mended);
  }
  return e.with_sign_of(r, x);
}

}  // namespace trident::kir::math
