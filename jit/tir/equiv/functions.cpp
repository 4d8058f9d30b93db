#include "jit/tir/equiv/functions.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace trident::tir::equiv {

// --- conditions ---

void Functions::require(Condition::Kind kind, Value value) {
  end_.conditions.push_back({kind, value});
}

void Functions::require_u32(Value a) {
  if (v_.max_of(a) <= kU32Max) return;
  if (v_.constant_of(a)) end_.fails = true;
  require(Condition::Kind::u32, a);
}

void Functions::require_not_zero(Value a) {
  if (v_.never_zero(a)) return;
  if (v_.is(a, 0)) {
    end_.fails = true;
  } else if (const auto choice = v_.choice(a)) {
    // f x + g with x 0 or 1: not 0 leaves one of the two, if any.
    const bool at_0 = !choice->constant.is_zero(), at_1 = choice->factor != -choice->constant;
    if (!at_0 && !at_1) end_.fails = true;
    if (!at_0) require_zero(v_.subtract(choice->atom, integer(1)));
    if (!at_1) require_zero(choice->atom);
  } else if (const auto powers = v_.single_term(a)) {
    for (const auto& power : *powers) require_factor(power);
  } else {
    const Value whole = v_.normed(a);
    if (!v_.never_zero(whole)) require(Condition::Kind::not_zero, whole);
  }
}

void Functions::require_factor(const Values::Power& power) {
  if (power.exponent < 0 || v_.never_zero(power.atom)) return;
  if (v_.choice(power.atom))
    require_not_zero(power.atom);
  else
    require(Condition::Kind::not_zero, power.atom);
}

void Functions::require_zero(Value a) {
  if (v_.is(a, 0)) return;
  if (v_.never_zero(a)) {
    end_.fails = true;
    return;
  }
  if (const auto choice = v_.choice(a)) {
    const bool at_0 = choice->constant.is_zero(), at_1 = choice->factor == -choice->constant;
    const auto asked = v_.asked_for_zero(choice->atom);
    if (!at_0 && !at_1) end_.fails = true;
    if (at_0 && asked) return require_not_zero(*asked);
    if (at_1 && asked) return require_zero(*asked);
    require(Condition::Kind::zero, at_0 ? choice->atom : v_.subtract(choice->atom, integer(1)));
    return;
  }
  const auto powers = v_.single_term(a);
  if (powers && powers->size() == 1) {  // x^n = 0
    require(Condition::Kind::zero, (*powers)[0].atom);
    return;
  }
  if (require_all_bits(a)) return;
  require(Condition::Kind::zero, v_.normed(a));
}

bool Functions::require_all_bits(Value a) {
  const auto powers = v_.single_term(v_.add(v_.normed(a), integer(1)));
  if (!powers || powers->size() < 2) return false;
  for (const auto& power : *powers)
    if (v_.max_of(power.atom) > 1 || power.exponent != 1) return false;
  for (const auto& power : *powers) require_zero(v_.subtract(power.atom, integer(1)));
  return true;
}

// --- functions that are not polynomials ---

Value Functions::is_zero(Value a) {
  if (v_.never_zero(a)) return integer(0);
  if (v_.constant_of(a)) return integer(1);
  if (const auto choice = v_.choice(a)) {
    const bool at_0 = choice->constant.is_zero(), at_1 = choice->factor == -choice->constant;
    if (at_0 && !at_1) return opposite(choice->atom);
    if (at_1 && !at_0) return choice->atom;
    return integer(0);
  }
  Value whole = v_.normed(a);
  if (v_.never_zero(whole)) return integer(0);
  if (const auto powers = v_.single_term(a); powers && powers->size() == 1) whole = (*powers)[0].atom;
  return v_.atom(AtomKind::is_zero, whole, 0, 1);
}

Value Functions::low_word(Value a) {
  if (v_.max_of(a) <= kU32Max) return a;
  if (const auto c = v_.constant_of(a)) return integer(c->value() & kU32Max);
  return v_.atom(AtomKind::low_word, a, 0, kU32Max);
}

Value Functions::high_word(Value a, Value low) {
  if (v_.max_of(a) <= kU32Max) return integer(0);
  const Value high = v_.scale(v_.subtract(a, low), field::inverse(Element(std::uint64_t{1} << 32)));
  if (!v_.constant_of(high)) v_.bound(high, kU32Max);
  return high;
}

Value Functions::less(Value a, Value b) {
  require_u32(a);
  require_u32(b);
  const auto x = v_.constant_of(a), y = v_.constant_of(b);
  if (x && y) return integer(x->value() < y->value() ? 1 : 0);
  if (a == b) return integer(0);
  if (y && y->value() == 1) return is_zero(a);
  if (x && x->is_zero()) return opposite(is_zero(b));
  if (y && v_.max_of(a) < y->value()) return integer(1);
  if ((y && y->is_zero()) || (x && v_.max_of(b) <= x->value()) || (x && x->value() >= kU32Max)) return integer(0);
  const Value out = v_.atom(AtomKind::less, a, b, 1);
  v_.exclude(out, v_.atom(AtomKind::less, b, a, 1));
  v_.exclude(out, is_zero(v_.subtract(a, b)));
  return out;
}

Value Functions::all_bits(std::vector<Value> operands) {
  std::uint64_t mask = kU32Max;
  std::erase_if(operands, [&](Value v) {
    const auto c = v_.constant_of(v);
    if (c) mask &= c->value();
    return c.has_value();
  });
  std::uint64_t least = kU32Max, greatest = 0;  // bounds of the operands' greatest values
  for (const Value v : operands) {
    const std::uint64_t max = v_.max_of(v);
    least = std::min(least, max);
    greatest = std::max(greatest, max);
  }
  if (mask == 0) return integer(0);
  if (operands.empty()) return integer(mask);
  if (greatest <= 1) {
    Value product = integer(mask & 1);
    for (const Value v : operands) product = v_.multiply(product, v);
    return product;
  }
  // Bits that no operand can have do not matter.
  mask &= std::bit_ceil(least + 1) - 1;
  if (mask == 0) return integer(0);
  constexpr int kRunsMax = 2;
  const bool is_low = (mask & (mask + 1)) == 0;
  if (is_low || std::popcount(mask & ~(mask << 1)) > kRunsMax) return masked(std::move(operands), mask, least);
  Value sum = integer(0);
  const std::uint64_t max = std::min(least, mask);
  bool parts = true;
  while (mask != 0) {
    const std::uint64_t below = (mask & -mask) - 1, end = mask + below + 1, run = end & -end;
    for (const std::uint64_t part : {run - 1, below}) {
      const Value v = part == 0 ? integer(0) : masked(operands, part, least);
      parts &= part == 0 || is_part(v);
      sum = part == below ? v_.subtract(sum, v) : v_.add(sum, v);
    }
    mask &= ~(run - 1);
  }
  if (parts) mark_if_bitwise(sum, max);
  return sum;
}

Value Functions::masked(std::vector<Value> operands, std::uint64_t mask, std::uint64_t least) {
  const bool cuts = (mask & (mask + 1)) != 0 || least > mask;
  if (cuts) operands.push_back(integer(mask));
  if (operands.size() == 1) return operands[0];
  std::sort(operands.begin(), operands.end());
  return v_.atom(AtomKind::both_bits, v_.tuple(operands), 0, std::min(least, mask));
}

std::vector<Functions::BitPart> Functions::bit_parts(Value a) {
  const auto operands_of = [&](Value v) {
    const auto list = v_.operands(v);
    return list.empty() ? std::vector<Value>{v} : std::vector<Value>(list.begin(), list.end());
  };
  std::vector<BitPart> out;
  if (const auto parts = v_.parts(a); parts && v_.is_bitwise(a)) {
    for (const auto& part : *parts) out.push_back({part.coefficient, operands_of(part.atom)});
  } else {
    out.push_back({field::kOne, operands_of(a)});
  }
  return out;
}

Value Functions::both_bits(Value a, Value b, bool& is_atom) {
  is_atom = false;
  require_u32(a);
  require_u32(b);
  const auto x = v_.constant_of(a), y = v_.constant_of(b);
  if (x && y) return integer(x->value() & y->value());
  if (a == b) return a;
  if (x || y) {
    if (const auto out = bits_of_shifted(x ? b : a, (x ? x : y)->value(), is_atom)) return *out;
  }
  for (const auto& [exchanged, other] : {std::pair(a, b), std::pair(b, a)})
    if (const auto exchange = exchange_of(exchanged)) {
      bool ignored = false;
      const Value kept = both_bits(exchange->whole, other, is_atom);
      return different_bits(kept, both_bits(other, integer(exchange->bits), ignored));
    }
  constexpr std::size_t kPartsMax = 24, kOperandsMax = 8;
  auto left = bit_parts(a), right = bit_parts(b);
  if (left.size() * right.size() > kPartsMax) left = {{field::kOne, {a}}}, right = {{field::kOne, {b}}};
  Value sum = integer(0);
  bool single = true;
  for (const BitPart& p : left)
    for (const BitPart& q : right) {
      std::vector<Value> both;
      std::set_union(p.operands.begin(), p.operands.end(), q.operands.begin(), q.operands.end(),
                     std::back_inserter(both));
      if (both.size() > kOperandsMax) return all_bits({std::min(a, b), std::max(a, b)});
      const Value part = all_bits(std::move(both));
      single &= is_part(part) || v_.is_bitwise(part);
      sum = v_.add(sum, v_.scale(part, p.coefficient * q.coefficient));
    }
  const auto parts = v_.parts(sum);
  is_atom = left.size() * right.size() == 1 && parts &&
            std::ranges::any_of(*parts, [&](const auto& part) { return !v_.operands(part.atom).empty(); });
  if (single) mark_if_bitwise(sum, std::min({v_.max_of(a), v_.max_of(b), kU32Max}));
  return sum;
}

std::optional<Value> Functions::bits_of_shifted(Value a, std::uint64_t mask, bool& is_atom) {
  const auto shift = v_.shift_of(a);
  if (!shift || v_.max_of(shift->whole) > kU32Max) return {};
  const Value bits = both_bits(shift->whole, integer(mask << shift->by & kU32Max), is_atom);
  const Value out = shifted(bits, shift->by);
  if (!v_.constant_of(out)) v_.bound(out, std::min(mask, v_.max_of(a)));
  return out;
}

Value Functions::shifted(Value a, unsigned by) {
  const Value out = v_.scale(a, field::inverse(Element(std::uint64_t{1} << by)));
  if (!v_.constant_of(out)) v_.mark_shift(out, {a, by});
  return out;
}

void Functions::mark_quotient(Value quotient, Value whole, unsigned by) {
  if (by == 0 || v_.constant_of(quotient) || v_.max_of(whole) > kU32Max) return;
  const auto before = v_.shift_of(whole);
  if (before && v_.max_of(before->whole) <= kU32Max)
    v_.mark_shift(quotient, {before->whole, before->by + by});
  else
    v_.mark_shift(quotient, {whole, by});
}

bool Functions::is_part(Value v) {
  const auto parts = v_.parts(v);
  return parts && parts->size() == 1 && (*parts)[0].coefficient == field::kOne;
}

void Functions::mark_if_bitwise(Value a, std::uint64_t max) {
  const auto parts = v_.parts(a);
  if (!parts || parts->size() < 2) return;
  for (const auto& part : *parts) {
    if (v_.max_of(part.atom) <= kU32Max) continue;
    const bool inside = std::any_of(parts->begin(), parts->end(), [&](const auto& other) {
      const auto list = v_.operands(other.atom);
      return std::find(list.begin(), list.end(), part.atom) != list.end();
    });
    if (!inside) return;
  }
  v_.mark_bitwise(a);
  v_.bound(a, max);
}

std::optional<Values::Exchange> Functions::exchange_of(Value a) {
  const auto exchange = v_.exchange_of(a);
  return exchange && v_.max_of(exchange->whole) <= kU32Max ? exchange : std::nullopt;
}

Value Functions::different_bits(Value a, Value b) {
  require_u32(a);
  require_u32(b);
  std::uint64_t bits = 0;
  const auto without_constants = [&](Value v) {
    const auto c = v_.constant_of(v);
    if (c && c->value() <= kU32Max) {
      bits ^= c->value();
      return integer(0);
    }
    const auto exchange = exchange_of(v);
    if (exchange) bits ^= exchange->bits;
    return exchange ? exchange->whole : v;
  };
  const Value x = without_constants(a), y = without_constants(b);
  Value out = v_.is(x, 0) ? y : v_.is(y, 0) ? x : different_words(x, y);
  // A word below a mark has no mark itself, so marks never form a cycle.
  while (exchange_of(out)) out = without_constants(out);
  if (v_.constant_of(out)) return different_words(out, integer(bits));
  if (bits == 0) return out;
  const Value exchanged = different_words(out, integer(bits));
  if (v_.max_of(out) <= kU32Max && !v_.constant_of(exchanged)) v_.mark_exchange(exchanged, {out, bits});
  return exchanged;
}

Value Functions::different_words(Value a, Value b) {
  bool is_atom = false;
  const bool simple = !v_.is_bitwise(a) && !v_.is_bitwise(b);
  const Value both = both_bits(a, b, is_atom);
  const Value out = v_.subtract(v_.add(a, b), v_.scale(both, Element(2)));
  // A value with the atom is below 2^32 wherever the atom exists.
  const std::uint64_t max = std::bit_ceil(std::min(std::max(v_.max_of(a), v_.max_of(b)), kU32Max) + 1) - 1;
  if (is_atom && simple) v_.bound(out, max);
  if ((v_.is_bitwise(a) || is_part(a)) && (v_.is_bitwise(b) || is_part(b)) && (v_.is_bitwise(both) || is_part(both)))
    mark_if_bitwise(out, max);
  return out;
}

Value Functions::remainder(Value n, Value d, bool& is_atom) {
  is_atom = false;
  const auto x = v_.constant_of(n), y = v_.constant_of(d);
  if (x && y) return integer(x->value() % y->value());
  if (n == d || v_.is(n, 0)) return integer(0);
  if (y && std::has_single_bit(y->value())) return both_bits(n, integer(y->value() - 1), is_atom);
  if (y && v_.max_of(n) < y->value()) return n;
  is_atom = true;
  const std::uint64_t max_n = std::min(v_.max_of(n), kU32Max), max_d = std::min(v_.max_of(d), kU32Max);
  return v_.atom(AtomKind::remainder, n, d, std::min(max_n, max_d == 0 ? 0 : max_d - 1));
}

Value Functions::logarithm(Value a) {
  require_u32(a);
  require_not_zero(a);
  if (const auto c = v_.constant_of(a))
    return integer(c->is_zero() ? 0 : static_cast<std::uint64_t>(std::bit_width(c->value())) - 1);
  if (v_.max_of(a) <= 1) return integer(0);
  return v_.atom(AtomKind::logarithm, a, 0, 31);
}

Value Functions::bit_count(Value a) {
  require_u32(a);
  if (const auto c = v_.constant_of(a)) return integer(static_cast<std::uint64_t>(std::popcount(c->value())));
  if (v_.max_of(a) <= 1) return a;
  return v_.atom(AtomKind::bit_count, a, 0, 32);
}

Value Functions::power(Value base, Value exponent) {
  require_u32(exponent);
  if (const auto e = v_.constant_of(exponent)) {
    if (const auto out = v_.raise(base, e->value())) return *out;
  }
  if (v_.is(base, 1)) return base;
  if (v_.is(base, 0)) return is_zero(exponent);
  if (v_.max_of(exponent) <= 1)  // the power is 1 or the base
    return v_.add(integer(1), v_.multiply(exponent, v_.subtract(base, integer(1))));
  return v_.atom(AtomKind::power, base, exponent);
}

}  // namespace trident::tir::equiv
