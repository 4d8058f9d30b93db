#include "jit/tir/equiv/symbolic.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "jit/tir/equiv/ram.h"
#include "runtime/base/check.h"

namespace trident::tir::equiv {

using field::kDigestWords;
using field::kTip5Rate;
using field::kTip5Width;
using tasm::Op;

namespace {

constexpr std::uint64_t kU32Max = 0xffff'ffff;
/// Beyond these a block is out of reach: an end in normal form takes time that grows with their square.
constexpr std::size_t kInstructionsMax = 4096, kStoresMax = 256;

class Execution {
 public:
  Execution(Values& values, End& end, std::size_t cells) : v_(values), ram_(values), end_(end) {
    for (std::size_t i = cells; i > 0; --i) push(v_.atom(AtomKind::cell, static_cast<std::uint32_t>(i - 1)));
  }

  /// Until the block's end, or until it is known to fail in every run.
  void run(Block block) {
    for (const Instruction& instruction : block) {
      execute(instruction.op, instruction.argument);
      if (end_.fails || !end_.out_of_reach.empty()) return;
    }
    end_.stack = std::move(stack_);
    end_.stores = ram_.stores();
    if (sponge_touched_) end_.sponge = sponge_;
    std::sort(end_.conditions.begin(), end_.conditions.end());
    end_.conditions.erase(std::unique(end_.conditions.begin(), end_.conditions.end()), end_.conditions.end());
  }

 private:
  using Words = std::array<Value, kTip5Width>;
  using Extension = std::array<Value, 3>;

  Value& st(std::size_t i) { return stack_[stack_.size() - 1 - i]; }
  void push(Value v) { stack_.push_back(v); }
  Value pop() {
    const Value v = stack_.back();
    stack_.pop_back();
    return v;
  }
  Value integer(std::uint64_t n) { return v_.constant(Element(n)); }
  Value plus(Value a, std::uint64_t n) { return v_.add(a, integer(n)); }
  /// 1 - a.
  Value opposite(Value a) { return v_.subtract(integer(1), a); }

  // --- conditions ---

  void require(Condition::Kind kind, Value value) { end_.conditions.push_back({kind, value}); }
  void require_u32(Value a) {
    if (v_.max_of(a) <= kU32Max) return;
    if (v_.constant_of(a)) end_.fails = true;
    require(Condition::Kind::u32, a);
  }
  void require_not_zero(Value a) {
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
  void require_factor(const Values::Power& power) {
    if (power.exponent < 0 || v_.never_zero(power.atom)) return;
    if (v_.choice(power.atom))
      require_not_zero(power.atom);
    else
      require(Condition::Kind::not_zero, power.atom);
  }
  void require_zero(Value a) {
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
  /// A product of bits is 1 if all of them are.
  bool require_all_bits(Value a) {
    const auto powers = v_.single_term(v_.add(v_.normed(a), integer(1)));
    if (!powers || powers->size() < 2) return false;
    for (const auto& power : *powers)
      if (v_.max_of(power.atom) > 1 || power.exponent != 1) return false;
    for (const auto& power : *powers) require_zero(v_.subtract(power.atom, integer(1)));
    return true;
  }

  // --- functions that no polynomial is ---

  Value is_zero(Value a) {
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
  Value low_word(Value a) {
    if (v_.max_of(a) <= kU32Max) return a;
    if (const auto c = v_.constant_of(a)) return integer(c->value() & kU32Max);
    return v_.atom(AtomKind::low_word, a, 0, kU32Max);
  }
  /// a = 2^32 high + low; an upper half made of the lower one, so that the two give the whole again.
  Value high_word(Value a, Value low) {
    if (v_.max_of(a) <= kU32Max) return integer(0);
    const Value high = v_.scale(v_.subtract(a, low), field::inverse(Element(std::uint64_t{1} << 32)));
    if (!v_.constant_of(high)) v_.bound(high, kU32Max);
    return high;
  }
  /// a < b of u32.
  Value less(Value a, Value b) {
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
  /// The bitwise and of sorted operands that are required to be u32; an atom if it is nothing simpler. With a constant
  /// of one or two runs of bits it is that with the bits below a run's end less that with the bits below its start, so
  /// that runs which meet are one.
  Value all_bits(std::vector<Value> operands) {
    std::uint64_t mask = kU32Max;
    std::erase_if(operands, [&](Value v) {
      const auto c = v_.constant_of(v);
      if (c) mask &= c->value();
      return c.has_value();
    });
    std::uint64_t least = kU32Max, greatest = 0;  // of what they can be
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
  /// `least`: of the greatest that each operand can be.
  Value masked(std::vector<Value> operands, std::uint64_t mask, std::uint64_t least) {
    const bool cuts = (mask & (mask + 1)) != 0 || least > mask;
    if (cuts) operands.push_back(integer(mask));
    if (operands.size() == 1) return operands[0];
    std::sort(operands.begin(), operands.end());
    return v_.atom(AtomKind::both_bits, v_.tuple(operands), 0, std::min(least, mask));
  }
  /// A value as a sum of bitwise ands: of itself alone, unless it is one or was made of some bit by bit. A sum of
  /// products of bits, which is what a bitwise function is in each bit, is and-ed part by part.
  struct BitPart {
    Element coefficient;
    std::vector<Value> operands;
  };
  std::vector<BitPart> bit_parts(Value a) {
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
  /// a & b of u32, and whether that is an atom that has all that they are made of.
  Value both_bits(Value a, Value b, bool& is_atom) {
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
  /// (whole >> by) & mask as (whole & (mask << by)) >> by, for a `whole` that is known to be u32.
  std::optional<Value> bits_of_shifted(Value a, std::uint64_t mask, bool& is_atom) {
    const auto shift = v_.shift_of(a);
    if (!shift || v_.max_of(shift->whole) > kU32Max) return {};
    const Value bits = both_bits(shift->whole, integer(mask << shift->by & kU32Max), is_atom);
    const Value out = shifted(bits, shift->by);
    if (!v_.constant_of(out)) v_.bound(out, std::min(mask, v_.max_of(a)));
    return out;
  }
  /// Of a value without bits below 2^by.
  Value shifted(Value a, unsigned by) {
    const Value out = v_.scale(a, field::inverse(Element(std::uint64_t{1} << by)));
    if (!v_.constant_of(out)) v_.mark_shift(out, {a, by});
    return out;
  }
  /// Says what a quotient by 2^by is the quotient of.
  void mark_quotient(Value quotient, Value whole, unsigned by) {
    if (by == 0 || v_.constant_of(quotient) || v_.max_of(whole) > kU32Max) return;
    const auto before = v_.shift_of(whole);
    if (before && v_.max_of(before->whole) <= kU32Max)
      v_.mark_shift(quotient, {before->whole, before->by + by});
    else
      v_.mark_shift(quotient, {whole, by});
  }
  /// An atom, as far as bits go.
  bool is_part(Value v) {
    const auto parts = v_.parts(v);
    return parts && parts->size() == 1 && (*parts)[0].coefficient == field::kOne;
  }
  /// Marks and bounds what is bit by bit a sum of its parts. Parts that stand alone must be below 2^32 wherever the
  /// value can be computed: in one of the ands, or by themselves.
  void mark_if_bitwise(Value a, std::uint64_t max) {
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
  /// What `a` is with some bits exchanged, if that is known to be u32.
  std::optional<Values::Exchange> exchange_of(Value a) {
    const auto exchange = v_.exchange_of(a);
    return exchange && v_.max_of(exchange->whole) <= kU32Max ? exchange : std::nullopt;
  }
  /// The exclusive or: constants by themselves, last.
  Value different_bits(Value a, Value b) {
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
    // What is marked below has no mark itself, so that marks never lead round.
    while (exchange_of(out)) out = without_constants(out);
    if (v_.constant_of(out)) return different_words(out, integer(bits));
    if (bits == 0) return out;
    const Value exchanged = different_words(out, integer(bits));
    if (v_.max_of(out) <= kU32Max && !v_.constant_of(exchanged)) v_.mark_exchange(exchanged, {out, bits});
    return exchanged;
  }
  /// a + b - 2 (a & b).
  Value different_words(Value a, Value b) {
    bool is_atom = false;
    const bool simple = !v_.is_bitwise(a) && !v_.is_bitwise(b);
    const Value both = both_bits(a, b, is_atom);
    const Value out = v_.subtract(v_.add(a, b), v_.scale(both, Element(2)));
    // What has the atom is below 2^32 wherever there is the atom.
    const std::uint64_t max = std::bit_ceil(std::min(std::max(v_.max_of(a), v_.max_of(b)), kU32Max) + 1) - 1;
    if (is_atom && simple) v_.bound(out, max);
    if ((v_.is_bitwise(a) || is_part(a)) && (v_.is_bitwise(b) || is_part(b)) && (v_.is_bitwise(both) || is_part(both)))
      mark_if_bitwise(out, max);
    return out;
  }
  Value remainder(Value n, Value d, bool& is_atom) {
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
  void div_mod() {
    const Value n = st(0), d = st(1);
    require_u32(n);
    require_u32(d);
    require_not_zero(d);
    if (end_.fails) return;
    bool is_atom = false;
    const Value r = remainder(n, d, is_atom);
    const Value q = v_.multiply(v_.subtract(n, r), v_.invert(d));
    // With an atom of its own the quotient cannot stand where n and d are not as required.
    if (is_atom && !v_.constant_of(q) && r != n) v_.bound(q, std::min(v_.max_of(n), kU32Max));
    if (const auto y = v_.constant_of(d); y && std::has_single_bit(y->value()))
      mark_quotient(q, n, static_cast<unsigned>(std::countr_zero(y->value())));
    st(1) = q;
    st(0) = r;
  }
  Value logarithm(Value a) {
    require_u32(a);
    require_not_zero(a);
    if (const auto c = v_.constant_of(a))
      return integer(c->is_zero() ? 0 : static_cast<std::uint64_t>(std::bit_width(c->value())) - 1);
    if (v_.max_of(a) <= 1) return integer(0);
    return v_.atom(AtomKind::logarithm, a, 0, 31);
  }
  Value bit_count(Value a) {
    require_u32(a);
    if (const auto c = v_.constant_of(a)) return integer(static_cast<std::uint64_t>(std::popcount(c->value())));
    if (v_.max_of(a) <= 1) return a;
    return v_.atom(AtomKind::bit_count, a, 0, 32);
  }
  Value power(Value base, Value exponent) {
    require_u32(exponent);
    if (const auto e = v_.constant_of(exponent)) {
      if (const auto out = v_.raise(base, e->value())) return *out;
    }
    if (v_.is(base, 1)) return base;
    if (v_.is(base, 0)) return is_zero(exponent);
    if (v_.max_of(exponent) <= 1)  // 1 or the base
      return v_.add(integer(1), v_.multiply(exponent, v_.subtract(base, integer(1))));
    return v_.atom(AtomKind::power, base, exponent);
  }

  // --- hashes ---

  Words permuted(const Words& in, std::size_t wanted) {
    Words out{};
    std::array<Element, kTip5Width> known;
    bool constant = true;
    for (std::size_t i = 0; i < kTip5Width && constant; ++i) {
      const auto c = v_.constant_of(in[i]);
      constant = c.has_value();
      if (constant) known[i] = *c;
    }
    if (constant) {
      field::Tip5 sponge;
      for (std::size_t i = 0; i < kTip5Width; ++i) sponge.set_word(i, known[i]);
      sponge.permute();
      for (std::size_t i = 0; i < kTip5Width; ++i) out[i] = v_.constant(sponge.word(i));
      return out;
    }
    const std::uint32_t name = v_.tuple(in);
    for (std::size_t i = 0; i < wanted; ++i) out[i] = v_.atom(AtomKind::permuted, name, static_cast<std::uint32_t>(i));
    return out;
  }
  /// Of ten words at the front, the digest pushed.
  void push_hashed(Words words) {
    std::fill(words.begin() + kTip5Rate, words.end(), integer(1));
    const Words out = permuted(words, kDigestWords);
    for (std::size_t i = kDigestWords; i > 0; --i) push(out[i - 1]);
  }
  void hash() {
    Words words{};
    for (std::size_t i = 0; i < kTip5Rate; ++i) words[i] = pop();
    push_hashed(words);
  }
  void merkle_step(const std::array<Value, kDigestWords>& sibling) {
    const Value index = st(kDigestWords);
    require_u32(index);
    bool is_atom = false;
    const Value bit = both_bits(index, integer(1), is_atom);
    Words words{};
    for (std::size_t i = 0; i < kDigestWords; ++i) {
      const Value own = pop(), moved = v_.multiply(bit, v_.subtract(sibling[i], own));
      words[i] = v_.add(own, moved);  // the sibling is the left one of an odd index
      words[i + kDigestWords] = v_.subtract(sibling[i], moved);
    }
    const Value parent = v_.scale(v_.subtract(index, bit), field::inverse(Element(2)));
    if (is_atom) v_.bound(parent, std::min(v_.max_of(index), kU32Max) / 2);
    mark_quotient(parent, index, 1);
    push_hashed(words);
    st(kDigestWords) = parent;
  }
  void merkle_step_secret() {
    std::array<Value, kDigestWords> sibling{};
    for (std::uint32_t i = 0; i < kDigestWords; ++i) sibling[i] = v_.atom(AtomKind::digest_word, digests_, i);
    ++digests_;
    merkle_step(sibling);
  }
  void merkle_step_mem() {
    std::array<Value, kDigestWords> sibling{};
    for (Value& word : sibling) word = loaded(st(7));
    merkle_step(sibling);
  }
  void sponge_init() {
    sponge_touched_ = true;
    sponge_.fill(integer(0));
  }
  void use_sponge() {
    if (sponge_touched_) return;
    sponge_touched_ = true;
    for (std::uint32_t i = 0; i < kTip5Width; ++i) sponge_[i] = v_.atom(AtomKind::sponge_word, i);
  }
  void sponge_absorb() {
    use_sponge();
    for (std::size_t i = 0; i < kTip5Rate; ++i) sponge_[i] = pop();
    sponge_ = permuted(sponge_, kTip5Width);
  }
  void sponge_absorb_mem() {
    use_sponge();
    Value pointer = st(0);
    for (std::size_t i = 0; i < kTip5Rate; ++i) {
      sponge_[i] = loaded(pointer);
      if (i < 4) st(1 + i) = sponge_[i];
    }
    st(0) = pointer;
    sponge_ = permuted(sponge_, kTip5Width);
  }
  void sponge_squeeze() {
    use_sponge();
    for (std::size_t i = kTip5Rate; i > 0; --i) push(sponge_[i - 1]);
    sponge_ = permuted(sponge_, kTip5Width);
  }

  // --- RAM ---

  /// The word at a pointer that goes on by one.
  Value loaded(Value& pointer) {
    const Value word = ram_.load(pointer);
    pointer = plus(pointer, 1);
    return word;
  }
  void read_mem(std::uint64_t n) {
    Value pointer = pop();
    for (; n > 0; --n) {
      push(ram_.load(pointer));
      pointer = v_.subtract(pointer, integer(1));
    }
    push(pointer);
  }
  void write_mem(std::uint64_t n) {
    Value pointer = pop();
    for (; n > 0; --n) {
      ram_.store(pointer, pop());
      pointer = plus(pointer, 1);
      if (++stores_ > kStoresMax) end_.out_of_reach = "more stores than are looked at";
    }
    push(pointer);
  }

  // --- the extension ---

  Extension extension(std::size_t i) { return {st(i), st(i + 1), st(i + 2)}; }
  void set_extension(std::size_t i, const Extension& x) { st(i) = x[0], st(i + 1) = x[1], st(i + 2) = x[2]; }
  Extension sum(const Extension& a, const Extension& b) {
    return {v_.add(a[0], b[0]), v_.add(a[1], b[1]), v_.add(a[2], b[2])};
  }
  Extension scaled(Value a, const Extension& b) {
    return {v_.multiply(a, b[0]), v_.multiply(a, b[1]), v_.multiply(a, b[2])};
  }
  /// x^3 = x - 1, x^4 = x^2 - x.
  Extension product(const Extension& a, const Extension& b) {
    std::array<Value, 5> c;
    c.fill(integer(0));
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) c[i + j] = v_.add(c[i + j], v_.multiply(a[i], b[j]));
    return {v_.subtract(c[0], c[3]), v_.subtract(v_.add(c[1], c[3]), c[4]), v_.add(c[2], c[4])};
  }
  /// Fails where the norm is 0, as only 0's is; see runtime/field/extension.h.
  void x_invert() {
    const auto [a0, a1, a2] = extension(0);
    const auto minus = [&](Value a, Value b) { return v_.subtract(a, b); };
    const auto times = [&](Value a, Value b) { return v_.multiply(a, b); };
    const Value d = v_.add(a0, a2), e = minus(a1, a2);
    const Value k0 = minus(times(d, d), times(e, a1)), k1 = minus(times(e, a2), times(a1, d));
    const Value k2 = minus(times(a1, a1), times(d, a2));
    const Value norm = minus(minus(times(a0, k0), times(a2, k1)), times(a1, k2));
    require_not_zero(norm);
    if (end_.fails) return;
    set_extension(0, scaled(v_.invert(norm), {k0, k1, k2}));
  }
  Extension loaded_extension(Value& pointer) {
    Extension x{};
    for (Value& c : x) c = loaded(pointer);
    return x;
  }
  void xx_dot_step() {
    const Extension right = loaded_extension(st(0)), left = loaded_extension(st(1));
    set_extension(2, sum(extension(2), product(right, left)));
  }
  void xb_dot_step() {
    const Value right = loaded(st(0));
    set_extension(2, sum(extension(2), scaled(right, loaded_extension(st(1)))));
  }
  void replace_pair(const Extension& result) {
    stack_.resize(stack_.size() - 3);
    set_extension(0, result);
  }

  // --- the rest ---

  void assert_one() { require_zero(v_.subtract(pop(), integer(1))); }
  void assert_vector() {
    for (std::size_t i = 0; i < kDigestWords; ++i) require_zero(v_.subtract(st(i), st(i + kDigestWords)));
    stack_.resize(stack_.size() - kDigestWords);
  }
  void invert() {
    require_not_zero(st(0));
    if (!end_.fails) st(0) = v_.invert(st(0));
  }
  void read(AtomKind kind, std::uint64_t n, std::uint32_t& taken) {
    for (; n > 0; --n) push(v_.atom(kind, taken++));
  }
  void split() {
    const Value a = st(0), low = low_word(a);
    st(0) = high_word(a, low);
    push(low);
  }

  void execute(Op op, Element argument) {
    const std::uint64_t n = argument.value();
    const auto place = [&](std::uint64_t i) { return stack_.end() - 1 - static_cast<std::ptrdiff_t>(i); };
    switch (op) {
      case Op::kPop: stack_.resize(stack_.size() - n); return;
      case Op::kPush: return push(v_.constant(argument));
      case Op::kDivine: return read(AtomKind::secret_word, n, secret_);
      case Op::kPick: std::rotate(place(n), place(n) + 1, stack_.end()); return;
      case Op::kPlace: std::rotate(place(n), stack_.end() - 1, stack_.end()); return;
      case Op::kDup: return push(st(n));
      case Op::kSwap: return std::swap(st(0), st(n));
      case Op::kNop: return;
      case Op::kAssert: return assert_one();
      case Op::kReadMem: return read_mem(n);
      case Op::kWriteMem: return write_mem(n);
      case Op::kHash: return hash();
      case Op::kAssertVector: return assert_vector();
      case Op::kSpongeInit: return sponge_init();
      case Op::kSpongeAbsorb: return sponge_absorb();
      case Op::kSpongeAbsorbMem: return sponge_absorb_mem();
      case Op::kSpongeSqueeze: return sponge_squeeze();
      case Op::kAddI: st(0) = v_.add(st(0), v_.constant(argument)); return;
      case Op::kInvert: return invert();
      case Op::kSplit: return split();
      case Op::kLog2Floor: st(0) = logarithm(st(0)); return;
      case Op::kDivMod: return div_mod();
      case Op::kPopCount: st(0) = bit_count(st(0)); return;
      case Op::kXxAdd: return replace_pair(sum(extension(0), extension(3)));
      case Op::kXxMul: return replace_pair(product(extension(0), extension(3)));
      case Op::kXInvert: return x_invert();
      case Op::kReadIo: return read(AtomKind::public_word, n, public_);
      case Op::kWriteIo:
        for (std::uint64_t i = 0; i < n; ++i) end_.output.push_back(pop());
        return;
      case Op::kMerkleStep: return merkle_step_secret();
      case Op::kMerkleStepMem: return merkle_step_mem();
      case Op::kXxDotStep: return xx_dot_step();
      case Op::kXbDotStep: return xb_dot_step();
      case Op::kXbMul: {
        const Value factor = pop();
        return set_extension(0, scaled(factor, extension(0)));
      }
      case Op::kAdd:
      case Op::kMul:
      case Op::kEq:
      case Op::kLt:
      case Op::kAnd:
      case Op::kXor:
      case Op::kPow: {
        const Value first = pop();
        st(0) = of_two(op, first, st(0));
        return;
      }
      case Op::kHalt:
      case Op::kSkiz:
      case Op::kCall:
      case Op::kReturn:
      case Op::kRecurse:
      case Op::kRecurseOrReturn: CHECK(false);
    }
  }
  /// Of st0 and st1.
  Value of_two(Op op, Value a, Value b) {
    bool is_atom = false;
    if (op == Op::kAdd) return v_.add(a, b);
    if (op == Op::kMul) return v_.multiply(a, b);
    if (op == Op::kEq) return is_zero(v_.subtract(a, b));
    if (op == Op::kLt) return less(a, b);
    if (op == Op::kAnd) return both_bits(a, b, is_atom);
    if (op == Op::kXor) return different_bits(a, b);
    return power(a, b);
  }

  Values& v_;
  Ram ram_;
  End& end_;
  std::vector<Value> stack_;  ///< bottom first
  Words sponge_{};
  bool sponge_touched_ = false;
  std::uint32_t public_ = 0, secret_ = 0, digests_ = 0;
  std::size_t stores_ = 0;
};

}  // namespace

Shape shape_of(Block block) {
  Shape s;
  for (const Instruction& instruction : block) {
    if (instruction.op == Op::kHalt) {
      s.halts = true;
      break;
    }
    const tasm::InstructionRow& row = tasm::row(instruction.op);
    const std::uint64_t n = instruction.argument_of_amounts();
    const long takes = static_cast<long>(row.takes.of(n)), change = row.stack_change(n);
    if ((row.effects & tasm::kControl) != 0) s.straight = false;
    const long size = static_cast<long>(tasm::kRegisters) + std::max(0L, -change) - s.height_change;
    s.size_min = static_cast<std::size_t>(std::max(static_cast<long>(s.size_min), size));
    s.cells = static_cast<std::size_t>(std::max(static_cast<long>(s.cells), takes - s.height_change));
    s.height_change += change;
    ++s.executed;
    if ((row.effects & tasm::kPublicInput) != 0) s.public_words += n;
    if ((row.effects & tasm::kPublicOutput) != 0) s.output_words += n;
    s.reads_ram |= (row.effects & tasm::kReadsRam) != 0;
    if (instruction.op == Op::kDivine) s.secret_words += n;
    if (instruction.op == Op::kMerkleStep) ++s.digests;
    if ((row.effects & tasm::kSponge) != 0) {
      if (!s.touches_sponge && instruction.op != Op::kSpongeInit) s.uses_sponge = true;
      s.touches_sponge = true;
    }
  }
  return s;
}

End execute(Values& values, Block block, std::size_t cells) {
  End end;
  const Shape shape = shape_of(block);
  CHECK(shape.straight && shape.cells <= cells);
  if (shape.executed > kInstructionsMax) {
    end.out_of_reach = "more instructions than are looked at";
    return end;
  }
  Execution(values, end, cells).run(block.first(shape.executed));
  return end;
}

}  // namespace trident::tir::equiv
