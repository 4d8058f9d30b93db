// Runs a straight block in eight states: a function per instruction, as in vm/execution.cpp.
#include <algorithm>
#include <bit>

#include "jit/tir/equiv/lanes.h"
#include "runtime/base/check.h"
#include "runtime/field/extension.h"

namespace trident::tir::equiv {

using field::kDigestWords;
using field::kTip5Rate;
using field::kTip5Width;
using tasm::Op;

class LaneExecution {
 public:
  LaneExecution(Lanes& lanes, LaneEnd& end) : l_(lanes), end_(end), stack_(end.stack) {
    end_.failed = 0;
    end_.output.clear();
    end_.stores.clear();
    end_.sponge_touched = false;
    stack_.assign(l_.cells_.begin(), l_.cells_.end());
  }

  void run(Block block, LaneMask must_live) {
    for (const Instruction& instruction : block) {
      execute(instruction.op, instruction.argument);
      if ((end_.failed & must_live) != 0) return;
    }
  }

 private:
  using Words = std::array<RowId, kTip5Width>;
  using Extension = std::array<RowId, 3>;

  RowId& st(std::size_t i) { return stack_[stack_.size() - 1 - i]; }
  void push(RowId id) { stack_.push_back(id); }
  RowId pop() {
    const RowId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  const std::uint64_t* words(RowId id) { return l_.rows_[id].word; }

  using Kernel = void (*)(std::uint64_t*, const std::uint64_t*, const std::uint64_t*, std::size_t);
  RowId computed(Kernel kernel, RowId a, RowId b) {
    const RowId out = l_.row();
    kernel(l_.rows_[out].word, words(a), words(b), kLanes);
    return out;
  }
  RowId sum(RowId a, RowId b) { return computed(l_.kernels_.add, a, b); }
  RowId difference(RowId a, RowId b) { return computed(l_.kernels_.subtract, a, b); }
  RowId product(RowId a, RowId b) { return computed(l_.kernels_.multiply, a, b); }
  RowId constant(Element e) {
    const RowId out = l_.row();
    std::fill_n(l_.rows_[out].word, kLanes, e.value());
    return out;
  }
  /// Applies f(word of a, word of b) in every lane.
  template <class F>
  RowId each(RowId a, RowId b, F f);
  template <class F>
  void fail_if(RowId a, F f) {
    const std::uint64_t* const x = words(a);
    for (std::size_t i = 0; i < kLanes; ++i) end_.failed |= lane_bit(f(x[i]), i);
  }
  void need_u32(RowId a) {
    fail_if(a, [](std::uint64_t x) { return x > kU32Max; });
  }
  void need_not_zero(RowId a) {
    fail_if(a, [](std::uint64_t x) { return x == 0; });
  }

  RowId inverse(RowId a);
  void split() {
    const RowId a = st(0);
    st(0) = each(a, a, [](std::uint64_t x, std::uint64_t) { return x >> 32; });
    push(each(a, a, [](std::uint64_t x, std::uint64_t) { return x & kU32Max; }));
  }
  void div_mod();
  RowId of_two(Op op, RowId a, RowId b);

  // --- RAM, inputs, assertions ---

  RowId loaded(RowId& pointer) {
    const RowId word = l_.loaded(end_.stores, pointer);
    pointer = sum(pointer, l_.one_);
    return word;
  }
  void read_mem(std::uint64_t n);
  void write_mem(std::uint64_t n);
  void assert_one() {
    fail_if(pop(), [](std::uint64_t x) { return x != 1; });
  }
  void assert_vector() {
    for (std::size_t k = 0; k < kDigestWords; ++k) {
      const std::uint64_t *x = words(st(k)), *y = words(st(k + kDigestWords));
      for (std::size_t i = 0; i < kLanes; ++i) end_.failed |= lane_bit(x[i] != y[i], i);
    }
    stack_.resize(stack_.size() - kDigestWords);
  }

  // --- hashes ---

  void push_hashed(Words in) {
    std::fill(in.begin() + kTip5Rate, in.end(), l_.one_);
    const Words out = l_.permuted(in);
    for (std::size_t i = kDigestWords; i > 0; --i) push(out[i - 1]);
  }
  void hash() {
    Words in{};
    for (std::size_t i = 0; i < kTip5Rate; ++i) in[i] = pop();
    push_hashed(in);
  }
  void merkle_step(const std::array<RowId, kDigestWords>& sibling);
  void merkle_step_mem() {
    std::array<RowId, kDigestWords> sibling{};
    for (RowId& word : sibling) word = loaded(st(7));
    merkle_step(sibling);
  }
  Words& sponge();
  void sponge_absorb() {
    Words& s = sponge();
    for (std::size_t i = 0; i < kTip5Rate; ++i) s[i] = pop();
    s = l_.permuted(s);
  }
  void sponge_absorb_mem();
  void sponge_squeeze() {
    Words& s = sponge();
    for (std::size_t i = kTip5Rate; i > 0; --i) push(s[i - 1]);
    s = l_.permuted(s);
  }

  // --- the extension ---

  Extension extension(std::size_t i) { return {st(i), st(i + 1), st(i + 2)}; }
  void set_extension(std::size_t i, const Extension& x) { st(i) = x[0], st(i + 1) = x[1], st(i + 2) = x[2]; }
  Extension plus(const Extension& a, const Extension& b) { return {sum(a[0], b[0]), sum(a[1], b[1]), sum(a[2], b[2])}; }
  Extension scaled(RowId a, const Extension& b) { return {product(a, b[0]), product(a, b[1]), product(a, b[2])}; }
  Extension times(const Extension& a, const Extension& b) {
    std::array<RowId, 5> c;
    c.fill(l_.zero_);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) c[i + j] = sum(c[i + j], product(a[i], b[j]));
    return {difference(c[0], c[3]), difference(sum(c[1], c[3]), c[4]), sum(c[2], c[4])};
  }
  void replace_pair(const Extension& result) {
    stack_.resize(stack_.size() - 3);
    set_extension(0, result);
  }
  void x_invert();
  Extension loaded_extension(RowId& pointer) {
    Extension x{};
    for (RowId& c : x) c = loaded(pointer);
    return x;
  }
  void xx_dot_step() {
    const Extension right = loaded_extension(st(0)), left = loaded_extension(st(1));
    set_extension(2, plus(extension(2), times(right, left)));
  }
  void xb_dot_step() {
    const RowId right = loaded(st(0));
    set_extension(2, plus(extension(2), scaled(right, loaded_extension(st(1)))));
  }
  void horner_step(const Extension& coefficient, std::uint64_t words) {
    st(5) = difference(st(5), constant(Element(words)));
    set_extension(7, plus(times(extension(7), extension(0)), coefficient));
  }
  void b_horner_step() { horner_step({l_.loaded(end_.stores, st(5)), l_.zero_, l_.zero_}, 1); }
  void x_horner_step() {
    RowId pointer = difference(st(5), constant(Element(2)));
    horner_step(loaded_extension(pointer), 3);
  }

  void u32_function(std::uint64_t (*f)(std::uint64_t)) {
    need_u32(st(0));
    st(0) = each(st(0), st(0), [f](std::uint64_t x, std::uint64_t) { return f(x); });
  }

  void execute(Op op, Element argument);

  Lanes& l_;
  LaneEnd& end_;
  std::vector<RowId>& stack_;
  std::size_t public_ = 0, secret_ = 0, digests_ = 0;
};

template <class F>
inline RowId LaneExecution::each(RowId a, RowId b, F f) {
  const RowId out = l_.row();
  const std::uint64_t *x = words(a), *y = words(b);
  std::uint64_t* const to = l_.rows_[out].word;
  for (std::size_t i = 0; i < kLanes; ++i) to[i] = f(x[i], y[i]);
  return out;
}

inline RowId LaneExecution::inverse(RowId a) {
  // x^(p-2) as in runtime/field/element.h.
  const auto raised = [&](RowId base, int squarings) {
    const RowId out = l_.row();
    std::uint64_t* const x = l_.rows_[out].word;
    std::copy_n(words(base), kLanes, x);
    for (; squarings > 0; --squarings) l_.kernels_.multiply(x, x, x, kLanes);
    return out;
  };
  const RowId t2 = product(raised(a, 1), a), t3 = product(raised(t2, 1), a), t6 = product(raised(t3, 3), t3);
  const RowId t12 = product(raised(t6, 6), t6), t24 = product(raised(t12, 12), t12);
  const RowId t30 = product(raised(t24, 6), t6), t31 = product(raised(t30, 1), a), t32 = product(raised(t31, 1), a);
  return product(raised(t31, 33), t32);
}

inline void LaneExecution::div_mod() {
  const RowId n = st(0), d = st(1);
  need_u32(n);
  need_u32(d);
  need_not_zero(d);
  st(1) = each(n, d, [](std::uint64_t x, std::uint64_t y) { return y == 0 ? 0 : x / y; });
  st(0) = each(n, d, [](std::uint64_t x, std::uint64_t y) { return y == 0 ? 0 : x % y; });
}

inline RowId LaneExecution::of_two(Op op, RowId a, RowId b) {
  if (op == Op::kAdd) return sum(a, b);
  if (op == Op::kMul) return product(a, b);
  if (op == Op::kEq) return each(a, b, [](std::uint64_t x, std::uint64_t y) { return std::uint64_t{x == y}; });
  need_u32(b);
  if (op == Op::kPow)
    return each(a, b, [](std::uint64_t x, std::uint64_t y) {
      return field::power(Element::canonical(x), y & kU32Max).value();
    });
  need_u32(a);
  if (op == Op::kLt) return each(a, b, [](std::uint64_t x, std::uint64_t y) { return std::uint64_t{x < y}; });
  if (op == Op::kAnd) return each(a, b, [](std::uint64_t x, std::uint64_t y) { return x & y & kU32Max; });
  return each(a, b, [](std::uint64_t x, std::uint64_t y) { return (x ^ y) & kU32Max; });
}

inline void LaneExecution::read_mem(std::uint64_t n) {
  RowId pointer = pop();
  for (; n > 0; --n) {
    push(l_.loaded(end_.stores, pointer));
    pointer = difference(pointer, l_.one_);
  }
  push(pointer);
}

inline void LaneExecution::write_mem(std::uint64_t n) {
  RowId pointer = pop();
  for (; n > 0; --n) {
    end_.stores.push_back({pointer, pop()});
    pointer = sum(pointer, l_.one_);
  }
  push(pointer);
}

inline void LaneExecution::merkle_step(const std::array<RowId, kDigestWords>& sibling) {
  const RowId index = st(kDigestWords);
  need_u32(index);
  Words in{};
  for (std::size_t i = 0; i < kDigestWords; ++i) {
    const RowId own = pop(), left = l_.row(), right = l_.row();
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const bool is_right = (words(index)[lane] & 1) != 0;
      l_.rows_[left].word[lane] = words(is_right ? sibling[i] : own)[lane];
      l_.rows_[right].word[lane] = words(is_right ? own : sibling[i])[lane];
    }
    in[i] = left, in[i + kDigestWords] = right;
  }
  push_hashed(in);
  st(kDigestWords) = each(index, index, [](std::uint64_t x, std::uint64_t) { return x / 2; });
}

inline LaneExecution::Words& LaneExecution::sponge() {
  if (!end_.sponge_touched) {
    end_.sponge = l_.sponge_;
    end_.failed |= static_cast<LaneMask>(~l_.has_sponge_);
  }
  end_.sponge_touched = true;
  return end_.sponge;
}

inline void LaneExecution::sponge_absorb_mem() {
  Words& s = sponge();
  RowId pointer = st(0);
  for (std::size_t i = 0; i < kTip5Rate; ++i) {
    s[i] = loaded(pointer);
    if (i < 4) st(1 + i) = s[i];
  }
  st(0) = pointer;
  s = l_.permuted(s);
}

inline void LaneExecution::x_invert() {
  const Extension in = extension(0);
  const Extension out = {l_.row(), l_.row(), l_.row()};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    field::Extension x;
    for (std::size_t k = 0; k < 3; ++k) x.c[k] = Element::canonical(words(in[k])[lane]);
    end_.failed |= lane_bit(x.is_zero(), lane);
    x = field::inverse(x);
    for (std::size_t k = 0; k < 3; ++k) l_.rows_[out[k]].word[lane] = x.c[k].value();
  }
  set_extension(0, out);
}

inline void LaneExecution::execute(Op op, Element argument) {
  const std::uint64_t n = argument.value();
  const auto place = [&](std::uint64_t i) { return stack_.end() - 1 - static_cast<std::ptrdiff_t>(i); };
  switch (op) {
    case Op::kPop: stack_.resize(stack_.size() - n); return;
    case Op::kPush: return push(constant(argument));
    case Op::kDivine:
      for (std::uint64_t i = 0; i < n; ++i) push(l_.secret_[secret_++]);
      return;
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
    case Op::kSpongeInit:
      end_.sponge_touched = true;
      end_.sponge.fill(l_.zero_);
      return;
    case Op::kSpongeAbsorb: return sponge_absorb();
    case Op::kSpongeAbsorbMem: return sponge_absorb_mem();
    case Op::kSpongeSqueeze: return sponge_squeeze();
    case Op::kAddI: st(0) = sum(st(0), constant(argument)); return;
    case Op::kInvert:
      need_not_zero(st(0));
      st(0) = inverse(st(0));
      return;
    case Op::kSplit: return split();
    case Op::kLog2Floor:
      need_not_zero(st(0));
      return u32_function(
          [](std::uint64_t x) { return x == 0 ? x : static_cast<std::uint64_t>(std::bit_width(x)) - 1; });
    case Op::kDivMod: return div_mod();
    case Op::kPopCount:
      return u32_function([](std::uint64_t x) { return static_cast<std::uint64_t>(std::popcount(x)); });
    case Op::kXxAdd: return replace_pair(plus(extension(0), extension(3)));
    case Op::kXxMul: return replace_pair(times(extension(0), extension(3)));
    case Op::kXInvert: return x_invert();
    case Op::kReadIo:
      for (std::uint64_t i = 0; i < n; ++i) push(l_.public_[public_++]);
      return;
    case Op::kWriteIo:
      for (std::uint64_t i = 0; i < n; ++i) end_.output.push_back(pop());
      return;
    case Op::kMerkleStep: return merkle_step(l_.digests_[digests_++]);
    case Op::kMerkleStepMem: return merkle_step_mem();
    case Op::kXxDotStep: return xx_dot_step();
    case Op::kXbDotStep: return xb_dot_step();
    case Op::kBHornerStep: return b_horner_step();
    case Op::kXHornerStep: return x_horner_step();
    case Op::kXbMul: {
      const RowId factor = pop();
      return set_extension(0, scaled(factor, extension(0)));
    }
    case Op::kAdd:
    case Op::kMul:
    case Op::kEq:
    case Op::kLt:
    case Op::kAnd:
    case Op::kXor:
    case Op::kPow: {
      const RowId first = pop();
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

void Lanes::run(Block block, LaneEnd& end) {
  used_ = kept_;
  permutations_.resize(permutations_kept_);
  addresses_.resize(addresses_kept_);
  LaneExecution(*this, end).run(block, 0);
  kept_ = used_;
  permutations_kept_ = permutations_.size();
  addresses_kept_ = addresses_.size();
}

void Lanes::run_again(Block block, LaneMask must_live, LaneEnd& end) {
  used_ = kept_;
  permutations_.resize(permutations_kept_);
  addresses_.resize(addresses_kept_);
  LaneExecution(*this, end).run(block, must_live);
}

}  // namespace trident::tir::equiv
