// asinh, acosh and atanh through log1p, which keeps small arguments accurate.
//
//   asinh(a) = log1p(a + a^2 / (1 + sqrt(1 + a^2)))        acosh(x) = log1p(t + sqrt(t (t + 2))), t = x - 1
//   atanh(a) = log1p(2 a / (1 - a)) / 2
//
// Beyond a bound where only the leading term counts, asinh and acosh are log(a) + log(2), as log1p(a - 1) + log(2).
#include "jit/kir/math/coefficients/constants.h"
#include "jit/kir/math/functions.h"

namespace trident::kir::math {

namespace {

double large(const Expansion& e) {
  return e.by_type(0x1p14, 0x1p28);
}

Value with_sign_of(Expansion& e, Value magnitude, Value x) {
  return e.b.as_float(e.b.op(Op::Or, e.b.as_int(magnitude), e.sign_of(x)));
}

/// log1p(small) below the bound, log(a) + log(2) above it.
Value join(Expansion& e, Value a, Value small, const Range& range) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (bounded(range) && magnitude(range) <= large(e)) return emit_log1p(e, small, {-0.5, 4 * large(e), false});
  const Value beyond = e.b.lt(e.k(large(e)), a);
  const Value argument = e.b.select(beyond, e.b.sub(a, e.k(1)), small);
  const Value log = emit_log1p(e, argument, {-0.5, infinity, true});
  const Value ln2 = e.k(e.by_type(kLn2F32, kLn2F64)[0] + e.by_type(kLn2F32, kLn2F64)[1]);
  return e.b.add(log, e.b.select(beyond, ln2, e.k(0)));
}

}  // namespace

Value emit_asinh(Expansion& e, Value x, const Range& range) {
  const Value a = e.b.abs(x);
  const Value bounded_a = e.b.min(e.k(large(e)), a);
  const Value square = e.b.mul(bounded_a, bounded_a);
  const Value root = e.b.sqrt(e.b.add(square, e.k(1)), kNormal);
  const Value small = e.b.add(bounded_a, e.b.div(square, e.b.add(root, e.k(1)), kNormal));
  return with_sign_of(e, join(e, a, small, range), x);
}

Value emit_acosh(Expansion& e, Value x, const Range& range) {
  const Value t = e.b.sub(e.b.min(e.k(large(e)), x), e.k(1));
  const Value small = e.b.add(t, e.b.sqrt(e.b.mul(t, e.b.add(t, e.k(2)))));
  const Value result = join(e, x, small, range);
  return range.lo < 1 || range.may_be_nan ? e.b.select(e.b.le(e.k(1), x), result, e.nan()) : result;
}

Value emit_atanh(Expansion& e, Value x, const Range& range) {
  (void)range;
  const Value a = e.b.abs(x);
  const Value ratio = e.b.div(e.b.add(a, a), e.b.sub(e.k(1), a));  // infinite at 1, below -2 beyond it
  const Value log = emit_log1p(e, ratio, {});
  return with_sign_of(e, e.b.mul(log, e.k(0.5)), x);
}

}  // namespace trident::kir::math
