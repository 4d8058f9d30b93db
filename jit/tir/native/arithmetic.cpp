#include "jit/tir/native/arithmetic.h"

#include <algorithm>
#include <bit>

namespace trident::tir::native {

using field::kEpsilon;
using field::kModulus;
using kir::Op;
using kir::Type;

namespace {

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

}  // namespace

// --- facts about values
// ------------------------------------------------------------------------------------------

std::uint64_t Arithmetic::max(Value v) const {
  if (b_.is_constant(v)) return b_.bits_of(v);
  return v.index < max_.size() ? max_[v.index] : kModulus - 1;
}

Value Arithmetic::bounded(Value v, std::uint64_t bound) {
  if (v.index >= max_.size()) max_.resize(v.index + 1, kModulus - 1);
  max_[v.index] = std::min(max_[v.index], bound);
  return v;
}

Value Arithmetic::need_u32(Value v) {
  if (is_u32(v)) return v;
  out_of_u32_ = out_of_u32_.valid() ? b_.op(Op::Or, out_of_u32_, v) : v;
  return b_.is_constant(v) ? v : bounded(v, kEpsilon);
}

void Arithmetic::fail_if(Value mask) {
  if (b_.is_constant(mask) && b_.bits_of(mask) == 0) return;
  failed_ = failed_.valid() ? b_.op(Op::Or, failed_, mask) : mask;
}

void Arithmetic::fail_unless_equal(Value x, Value y) {
  if (x != y) fail_if(b_.ne(x, y));
}

Value Arithmetic::failed() {
  if (out_of_u32_.valid()) fail_if(b_.ne(high(out_of_u32_), integer(0)));
  return failed_.valid() ? where(failed_, 1) : integer(0);
}

Value Arithmetic::constant(std::uint64_t word) {
  return integer(word);
}

// --- the field -------------------------------------------------------------------------------------------------------

/// Adds mod p, given x ^ 2^63 and (p - y) ^ 2^63. With room = p - y: x - room where x >= room, else x - room + p.
Value Arithmetic::sum_with_flipped(Value x_flipped, Value room_flipped) {
  const Value wrapped = b_.sub(x_flipped, room_flipped);
  return b_.add(wrapped, where(b_.lt(x_flipped, room_flipped), kModulus));
}

/// Returns x + y + constant mod p, in [0, p), for x below 2^64 and y + constant <= (2^32 - 1)^2, for x a multiple of
/// 2^32 and y + constant <= p, and for x and y + constant both below p.
Value Arithmetic::canonical_sum(Value x, Value y, std::uint64_t constant) {
  if (target_ == Target::any) return sum_with_flipped(flipped(x), b_.sub(integer(kModulus + kSign - constant), y));
  const Value room = b_.sub(integer(kModulus - constant), y);
  return b_.add(b_.sub(x, room), where(below(x, room), kModulus));
}

/// Returns an integer below 2^64 that is x + y mod p, for x and y below p. Where x + y overflows 64 bits, the wrapped
/// sum is below p - 2^32 + 1, and 2^64 = 2^32 - 1.
Value Arithmetic::any_sum(Value x, Value y) {
  const Value wrapped = b_.add(x, y);
  return b_.add(wrapped, where(below(wrapped, x), kEpsilon));
}

Value Arithmetic::sum(Value x, Value y) {
  const unsigned __int128 greatest = static_cast<unsigned __int128>(max(x)) + max(y);
  if (b_.is_constant(x) && b_.bits_of(x) == 0) return y;
  if (b_.is_constant(y) && b_.bits_of(y) == 0) return x;
  if (greatest < kModulus) return bounded(b_.add(x, y), static_cast<std::uint64_t>(greatest));
  if (b_.is_constant(x)) std::swap(x, y);
  return canonical_sum(x, y);
}

Value Arithmetic::difference(Value x, Value y) {
  if (b_.is_constant(y)) return sum(x, integer((Element() - Element::canonical(b_.bits_of(y))).value()));
  const bool small = std::max(max(x), max(y)) < kSign;
  const Value below = small ? b_.lt(x, y) : b_.lt(flipped(x), flipped(y));
  return b_.add(b_.sub(x, y), where(below, kModulus));
}

Value Arithmetic::negated(Value x) {
  return b_.select(b_.eq(x, integer(0)), integer(0), b_.sub(integer(kModulus), x));
}

/// Returns x.low + 2^64 x.high mod p, as field::Element::reduced.
Value Arithmetic::reduced(Wide x, bool high_is_u32) {
  const Value x1 = product_of_lows(x.high, integer(kEpsilon));
  if (target_ == Target::avx512) {
    if (high_is_u32) return canonical_sum(x.low, x1);
    const Value x2 = high(x.high);
    return canonical_sum(b_.sub(b_.sub(x.low, x2), where(below(x.low, x2), kEpsilon)), x1);
  }
  Value flipped_low = flipped(x.low);
  if (!high_is_u32) {
    // x - x2 went below 0 if it is now greater than x; then 2^64 = 2^32 - 1 was added and must go.
    const Value less_x2 = b_.sub(flipped_low, high(x.high));
    flipped_low = b_.sub(less_x2, where(b_.lt(flipped_low, less_x2), kEpsilon));
  }
  return sum_with_flipped(flipped_low, b_.sub(integer(kModulus + kSign), x1));
}

Value Arithmetic::low_half_and(Value low_half, Value upper_half) {
  return b_.op(Op::Or, b_.op(Op::Shl, upper_half, integer(32)), low(low_half));
}

/// Multiplies; no sum in it wraps: (2^32 - 1)^2 + 2 (2^32 - 1) < 2^64.
Arithmetic::Thirds Arithmetic::thirds(Value x, Value y) {
  const Value low_low = product_of_lows(x, y), high_low = product_of_lows(high(x), y);
  const Value low_high = product_of_lows(x, high(y)), high_high = product_of_lows(high(x), high(y));
  const Value middle = b_.add(high_low, high(low_low)), middle_low = b_.add(low_high, low(middle));
  return {low_low, middle_low, b_.add(b_.add(high_high, high(middle)), high(middle_low))};
}

Value Arithmetic::product(Value x, Value y) {
  if (b_.is_constant(x)) std::swap(x, y);
  if (b_.is_constant(y)) {
    const std::uint64_t c = b_.bits_of(y);
    if (c == 0) return integer(0);
    if (c == 1) return x;
    if (c == kModulus - 1) return negated(x);
  }
  if (is_u32(x) && is_u32(y)) return bounded(product_of_lows(x, y), max(x) * max(y));
  if (is_u32(x)) std::swap(x, y);
  if (!is_u32(y)) {
    const Thirds t = thirds(x, y);
    return reduced({low_half_and(t.low, t.middle), t.high}, false);
  }
  const Value low_low = product_of_lows(x, y), high_low = product_of_lows(high(x), y);
  if (max(y) < std::uint64_t{1} << 31) {
    // Twice a number below 2^31 (2^32 - 1) is below p.
    const Value small = b_.add(low_low, product_of_lows(high(high_low), integer(kEpsilon)));
    return canonical_sum(b_.op(Op::Shl, high_low, integer(32)), small);
  }
  const Value middle = b_.add(high_low, high(low_low));
  return reduced({low_half_and(low_low, middle), high(middle)}, true);
}

/// Returns low in (-2^33, 2^32), high in [0, 2^33): 2^64 = 2^32 - 1 and 2^96 = -1.
Arithmetic::Loose Arithmetic::loose_product(Value x, Value y) {
  const Thirds t = thirds(x, y);
  const Value upper = low(t.high);
  return {b_.sub(b_.sub(low(t.low), upper), high(t.high)), b_.add(low(t.middle), upper)};
}

/// Reduces a sum of up to seven products, each added or subtracted: |x.low|, |x.high| < 2^36.
Value Arithmetic::tightened(const Loose& x) {
  // The value is x + 32 p = x + 32 + 2^32 (2^37 - 32), with 2^36 moved from the upper to the lower part: both are >= 0.
  const Value upper = b_.add(x.high, integer((std::uint64_t{1} << 37) - 32 - 16));
  const Value small = b_.add(x.low, product_of_lows(high(upper), integer(kEpsilon)));
  return canonical_sum(b_.op(Op::Shl, upper, integer(32)), small, (std::uint64_t{1} << 36) + 32);
}

Value Arithmetic::squared(Value x, int times) {
  for (; times > 0; --times) x = product(x, x);
  return x;
}

Value Arithmetic::inverse(Value x) {
  fail_if(b_.eq(x, integer(0)));
  // x^(p-2) by the chain of field::inverse.
  const Value t2 = product(squared(x, 1), x), t3 = product(squared(t2, 1), x), t6 = product(squared(t3, 3), t3);
  const Value t12 = product(squared(t6, 6), t6), t24 = product(squared(t12, 12), t12);
  const Value t30 = product(squared(t24, 6), t6), t31 = product(squared(t30, 1), x);
  const Value t32 = product(squared(t31, 1), x);
  return product(squared(t31, 33), t32);
}

Value Arithmetic::power(Value base, std::uint64_t exponent) {
  Value result = integer(1);
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = product(result, base);
    if (exponent > 1) base = product(base, base);
  }
  return result;
}

Value Arithmetic::power(Value base, Value exponent) {
  need_u32(exponent);
  if (b_.is_constant(exponent)) return power(base, b_.bits_of(exponent) & kEpsilon);
  if (b_.is_constant(base) && b_.bits_of(base) == 2 && max(exponent) < 63)
    return bounded(b_.op(Op::Shl, integer(1), exponent), std::uint64_t{1} << max(exponent));
  return target_ == Target::any ? power_by_bits(base, exponent) : power_by_windows(base, exponent);
}

/// Starts at the lowest bit: squarings and products are two chains, neither of which waits for the other.
Value Arithmetic::power_by_bits(Value base, Value exponent) {
  Value result = integer(1);
  const int bits = 64 - std::countl_zero(max(exponent));
  for (int i = 0; i < bits; ++i) {
    const Value bit = b_.op(Op::And, exponent, integer(std::uint64_t{1} << i));
    const Value factor = b_.select(b_.eq(bit, integer(0)), integer(1), base);
    result = product(result, bounded(factor, std::max(max(base), std::uint64_t{1})));
    if (i + 1 < bits) base = product(base, base);
  }
  return result;
}

/// Takes two bits at a time, from the highest on; a lane's next factor is the base to the power of 0, 1, 2 or 3: 47
/// products instead of 63, in one chain. (Windows of three bits take 46, and twice as many selections.)
Value Arithmetic::power_by_windows(Value base, Value exponent) {
  const Value base_2 = product(base, base), base_3 = product(base_2, base);
  const std::uint64_t most = std::max({max(base), max(base_2), max(base_3), std::uint64_t{1}});
  Value result;
  for (int at = (64 - std::countl_zero(max(exponent)) + 1) / 2 * 2 - 2; at >= 0; at -= 2) {
    const auto is_clear = [&](int bit) {
      return b_.eq(b_.op(Op::And, exponent, integer(std::uint64_t{1} << bit)), integer(0));
    };
    const Value no_1 = is_clear(at), no_2 = is_clear(at + 1);
    const Value factor = b_.select(no_2, b_.select(no_1, integer(1), base), b_.select(no_1, base_2, base_3));
    bounded(factor, most);
    result = result.valid() ? product(squared(result, 2), factor) : factor;
  }
  return result.valid() ? result : integer(1);
}

Value Arithmetic::equal(Value x, Value y) {
  if (x == y) return integer(1);
  return bounded(where(b_.eq(x, y), 1), 1);
}

// --- u32 -------------------------------------------------------------------------------------------------------------

Arithmetic::Halves Arithmetic::split(Value x) {
  if (is_u32(x)) return {integer(0), x};
  return {bounded(high(x), max(x) >> 32), bounded(low(x), kEpsilon)};
}

Value Arithmetic::less(Value x, Value y) {
  need_u32(x);
  need_u32(y);
  return bounded(b_.op(Op::Shr, b_.sub(x, y), integer(63)), 1);
}

Value Arithmetic::bitwise(Op op, Value x, Value y) {
  need_u32(x);
  need_u32(y);
  const std::uint64_t bound =
      op == Op::And ? std::min(max(x), max(y)) : std::bit_ceil(std::max(max(x), max(y)) + 1) - 1;
  return bounded(b_.op(op, x, y), bound);
}

Value Arithmetic::log_2_floor(Value x) {
  need_u32(x);
  fail_if(b_.eq(x, integer(0)));
  // Sets all bits below the highest one too, and counts them.
  Value filled = x;
  for (const std::uint64_t by : {1, 2, 4, 8, 16}) filled = b_.op(Op::Or, filled, b_.op(Op::Shr, filled, integer(by)));
  return bounded(b_.sub(pop_count(bounded(filled, kEpsilon)), integer(1)), 31);
}

/// Counts bits in pairs, nibbles, bytes; the product adds up the bytes in its fourth.
Value Arithmetic::pop_count(Value x) {
  need_u32(x);
  const auto masked_shift = [&](Value v, std::uint64_t by, std::uint64_t mask) {
    return b_.op(Op::And, b_.op(Op::Shr, v, integer(by)), integer(mask));
  };
  const Value pairs = b_.sub(x, masked_shift(x, 1, 0x5555'5555));
  const Value nibbles = b_.add(b_.op(Op::And, pairs, integer(0x3333'3333)), masked_shift(pairs, 2, 0x3333'3333));
  const Value bytes = b_.op(Op::And, b_.add(nibbles, b_.op(Op::Shr, nibbles, integer(4))), integer(0x0f0f'0f0f));
  return bounded(masked_shift(product_of_lows(bytes, integer(0x0101'0101)), 24, 0x3f), 32);
}

Arithmetic::Quotient Arithmetic::divide(Value n, Value d) {
  need_u32(n);
  need_u32(d);
  if (!is_u32(n) || !is_u32(d)) return {integer(0), integer(0)};  // constants with which every stack fails
  if (b_.is_constant(d) && std::has_single_bit(b_.bits_of(d))) {
    const std::uint64_t divisor = b_.bits_of(d);
    const auto shift = static_cast<std::uint64_t>(std::countr_zero(divisor));
    return {bounded(b_.op(Op::Shr, n, integer(shift)), max(n) >> shift),
            bounded(b_.op(Op::And, n, integer(divisor - 1)), divisor - 1)};
  }
  fail_if(b_.eq(d, integer(0)));
  // Both are exact as f64. n/d < k means n/d <= k - 1/d, and rounding moves n/d < 2^32/d by at most 2^-21/d: never up
  // to k, so that the integer part is right.
  const auto real = [&](Value v) { return b_.convert(Op::Convert, Type::f64, v); };
  const Value q = bounded(b_.convert(Op::Convert, Type::i64, b_.div(real(n), real(d))), max(n));
  return {q, bounded(b_.sub(n, product_of_lows(q, d)), max(d))};
}

// --- the extension ---------------------------------------------------------------------------------------------------

Arithmetic::Extension Arithmetic::sum(const Extension& x, const Extension& y) {
  return {sum(x[0], y[0]), sum(x[1], y[1]), sum(x[2], y[2])};
}

Arithmetic::Extension Arithmetic::product(const Extension& x, const Extension& y) {
  const auto known = [&](Value v) { return is_u32(v); };
  if (std::ranges::any_of(x, known) || std::ranges::any_of(y, known)) {
    // Products of values known to be small cost less than sums.
    const Value p0 = product(x[0], y[0]), p2 = product(x[2], y[2]);
    const Value p1 = sum(product(x[0], y[1]), product(x[1], y[0]));
    const Value p3 = sum(product(x[1], y[2]), product(x[2], y[1]));
    const Value middle = sum(sum(product(x[0], y[2]), product(x[1], y[1])), product(x[2], y[0]));
    return {difference(p0, p3), difference(sum(p1, p3), p2), sum(middle, p2)};
  }
  // Uses (a + b)(c + d) - a c - b d = a d + b c (Karatsuba): six products instead of nine, and three reductions.
  const auto cross = [&](std::size_t i, std::size_t k) {
    return loose_product(any_sum(x[i], x[k]), any_sum(y[i], y[k]));
  };
  const Loose p0 = loose_product(x[0], y[0]), p1 = loose_product(x[1], y[1]), p2 = loose_product(x[2], y[2]);
  const Loose c01 = cross(0, 1), c02 = cross(0, 2), c12 = cross(1, 2), upper = plus(p1, p2),
              first = minus(plus(p0, upper), c12);
  return {tightened(first), tightened(minus(minus(c01, first), upper)), tightened(plus(minus(c02, p0), p1))};
}

Arithmetic::Extension Arithmetic::product(Value factor, const Extension& x) {
  return {product(factor, x[0]), product(factor, x[1]), product(factor, x[2])};
}

Arithmetic::Adjugate Arithmetic::adjugate(const Extension& x) {
  // Computes the first column of the adjugate of multiplication by x, as field::inverse of an extension.
  const Value diagonal = sum(x[0], x[2]), corner = difference(x[1], x[2]);
  const Value k0 = difference(product(diagonal, diagonal), product(corner, x[1]));
  const Value k1 = difference(product(corner, x[2]), product(x[1], diagonal));
  const Value k2 = difference(product(x[1], x[1]), product(diagonal, x[2]));
  const Value norm = difference(difference(product(x[0], k0), product(x[2], k1)), product(x[1], k2));
  return {{k0, k1, k2}, norm};
}

Arithmetic::Extension Arithmetic::inverse(const Extension& x) {
  const auto [column, norm] = adjugate(x);
  return product(inverse(norm), column);
}

}  // namespace trident::tir::native
