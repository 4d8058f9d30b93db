// asinh, acosh and atanh through log1p, which keeps small arguments accurate.
//
//   asinh(a) = log1p(a + a^2 / (1 + sqrt(1 + a^2)))        acosh(x) = log1p(t + sqrt(t (t + 2))), t = x - 1
//   atanh(a) = log1p(2 a / (1 - a)) / 2
//
// Beyond a bound where only the leading term counts, asinh and acosh are log(a) + log(2), as log1p(a - 1) + log(2).
// Class ulp1 gives log1p its argument in two parts, which keep the rounding errors of every sum, root and quotient.
#include "jit/kir/math/log.h"

namespace trident::kir::math {

namespace {

double large(const Expansion& e) {
  return e.by_type(0x1p14, 0x1p28);
}

/// log1p(small + tail) below the bound, log(a) + log(2) above it.
Value join(Expansion& e, Value a, Value small, Value tail, const Range& range) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (bounded(range) && magnitude(range) <= large(e))
    return log1p_of_parts(e, {.head = small, .tail = tail, .doubled = {}}, {-0.5, 4 * large(e), false});
  const Value beyond = e.b.lt(e.k(large(e)), a);
  const Value argument = e.b.select(beyond, e.b.sub(a, e.k(1)), small);
  if (tail.valid()) tail = e.b.select(beyond, e.k(0), tail);
  return log1p_of_parts(e, {.head = argument, .tail = tail, .doubled = beyond}, {-0.5, infinity, true});
}

/// Returns the rounding error of greater + smaller = sum.
Value lost_by_sum(Expansion& e, Value sum, Value greater, Value smaller) {
  return e.b.add(e.b.sub(greater, sum), smaller);
}

}  // namespace

Value emit_asinh(Expansion& e, Value x, const Range& range) {
  const Value a = e.b.abs(x);
  const Value bounded_a = e.b.min(e.k(large(e)), a);
  if (!e.ulp1()) {
    const Value square = e.b.mul(bounded_a, bounded_a);
    const Value root = e.b.sqrt(e.b.add(square, e.k(1)), kNormal);
    const Value small = e.b.add(bounded_a, e.b.div(square, e.b.add(root, e.k(1)), kNormal));
    return e.with_sign_of(join(e, a, small, {}, range), x);
  }
  const Value square = e.b.mul(bounded_a, bounded_a);
  const Value square_tail = e.b.fms(bounded_a, bounded_a, square);
  const Value sum = e.b.fma(bounded_a, bounded_a, e.k(1));
  const Value sum_tail = e.b.fms(bounded_a, bounded_a, e.b.sub(sum, e.k(1)));  // sum - 1 is exact as far as it counts
  const Value root = e.b.sqrt(sum, kNormal);
  const Value half_inverse = e.b.div(e.k(0.5), root, kNormal);
  const Value root_tail = e.b.mul(e.b.add(e.b.fnma(root, root, sum), sum_tail), half_inverse);
  const Value divisor = e.b.add(root, e.k(1));
  const Value divisor_tail = e.b.add(lost_by_sum(e, divisor, root, e.k(1)), root_tail);
  const Value inverse = e.b.div(e.k(1), divisor, kNormal);
  const Value excess = e.b.mul(square, inverse);
  const Value residue = e.b.add(e.b.fnma(excess, divisor, square), e.b.fnma(excess, divisor_tail, square_tail));
  const Value small = e.b.add(bounded_a, excess);
  const Value tail = e.b.fma(residue, inverse, lost_by_sum(e, small, bounded_a, excess));
  return e.with_sign_of(join(e, a, small, tail, range), x);
}

Value emit_acosh(Expansion& e, Value x, const Range& range) {
  const Value t = e.b.sub(e.b.min(e.k(large(e)), x), e.k(1));
  Value small, tail;
  if (!e.ulp1()) {
    small = e.b.add(t, e.b.sqrt(e.b.mul(t, e.b.add(t, e.k(2)))));
  } else {
    const Value square = e.b.mul(t, t), twice = e.b.add(t, t);
    const Value greater = e.b.max(square, twice), lesser = e.b.min(square, twice);
    const Value sum = e.b.add(greater, lesser);
    const Value sum_tail = e.b.add(lost_by_sum(e, sum, greater, lesser), e.b.fms(t, t, square));
    const Value root = e.b.sqrt(sum);
    const Value residue = e.b.add(e.b.fnma(root, root, sum), sum_tail);
    const Value root_tail = e.b.div(residue, e.b.max(e.b.add(root, root), e.k(e.least_normal())));  // 0 at t = 0
    small = e.b.add(root, t);
    tail = e.b.add(lost_by_sum(e, small, root, t), root_tail);
  }
  const Value result = join(e, x, small, tail, range);
  return range.lo < 1 || range.may_be_nan ? e.b.select(e.b.le(e.k(1), x), result, e.nan()) : result;
}

Value emit_atanh(Expansion& e, Value x, const Range& range) {
  const Value a = e.b.abs(x);
  if (!e.ulp1()) {
    const Value ratio = e.b.div(e.b.add(a, a), e.b.sub(e.k(1), a));  // infinite at 1, below -2 beyond it
    return e.with_sign_of(e.b.mul(emit_log1p(e, ratio, {}), e.k(0.5)), x);
  }
  // Clamps to the float below 1; from 1 on the result is selected.
  const double last = e.by_type(0x1.fffffep-1, 0x1.fffffffffffffp-1);
  const bool inside = bounded(range) && magnitude(range) <= last;
  const Value bounded_a = inside ? a : e.b.min(e.k(last), a);
  const Value dividend = e.b.add(bounded_a, bounded_a);
  const Value divisor = e.b.sub(e.k(1), bounded_a);
  const Value divisor_tail = e.b.sub(e.b.sub(e.k(1), divisor), bounded_a);
  const Value inverse = e.b.div(e.k(1), divisor, kNormal);
  const Value ratio = e.b.mul(dividend, inverse);
  const Value residue = e.b.fnma(ratio, divisor_tail, e.b.fnma(ratio, divisor, dividend));
  const Value log = log1p_of_parts(e, {.head = ratio, .tail = e.b.mul(residue, inverse), .doubled = {}},
                                   {0, e.by_type(0x1p26, 0x1p55), false});
  Value result = e.b.mul(log, e.k(0.5));
  if (!inside) {
    const Value pole = e.b.select(e.b.eq(a, e.k(1)), e.infinity(), e.nan());
    result = e.b.select(e.b.lt(a, e.k(1)), result, pole);
  }
  return e.with_sign_of(result, x);
}

}  // namespace trident::kir::math
