// Runs a straight block in eight states: a function per instruction, here or in stack_steps.h.
#include <algorithm>
#include <bit>

#include "jit/tir/equiv/lanes.h"
#include "jit/tir/equiv/stack_steps.h"
#include "runtime/field/extension.h"

namespace trident::tir::equiv {

using field::kDigestWords;
using tasm::Op;

class LaneExecution : private StackSteps<LaneExecution, RowId> {
 public:
  LaneExecution(Lanes& lanes, LaneEnd& end) : StackSteps(end.stack), l_(lanes), end_(end) {
    end_.failed = 0;
    end_.output.clear();
    end_.stores.clear();
    end_.sponge_touched = false;
    end_.stack.assign(l_.cells_.begin(), l_.cells_.end());
  }

  void run(Block block, LaneMask must_live) {
    for (const Instruction& instruction : block) {
      execute(instruction.op, instruction.argument);
      if ((end_.failed & must_live) != 0) return;
    }
  }

 private:
  friend class StackSteps<LaneExecution, RowId>;

  const std::uint64_t* words(RowId id) { return l_.rows_[id].word; }

  // --- what StackSteps needs ---

  using Kernel = void (*)(std::uint64_t*, const std::uint64_t*, const std::uint64_t*, std::size_t);
  RowId computed(Kernel kernel, RowId a, RowId b) {
    const RowId out = l_.row();
    kernel(l_.rows_[out].word, words(a), words(b), kLanes);
    return out;
  }
  RowId sum(RowId a, RowId b) { return computed(l_.kernels_.add, a, b); }
  RowId difference(RowId a, RowId b) { return computed(l_.kernels_.subtract, a, b); }
  RowId product(RowId a, RowId b) { return computed(l_.kernels_.multiply, a, b); }
  RowId zero() { return l_.zero_; }
  RowId one() { return l_.one_; }
  RowId constant(Element e) {
    const RowId out = l_.row();
    std::fill_n(l_.rows_[out].word, kLanes, e.value());
    return out;
  }
  RowId load(RowId pointer) { return l_.loaded(end_.stores, pointer); }
  void store(RowId pointer, RowId word) { end_.stores.push_back({pointer, word}); }
  std::vector<RowId>& output() { return end_.output; }
  Words permuted(const Words& in, std::size_t /*wanted*/) { return l_.permuted(in); }
  Words& sponge();

  // --- conditions ---

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

  // --- instructions ---

  void divine(std::uint64_t n) {
    for (; n > 0; --n) push(l_.secret_[secret_++]);
  }
  void read_io(std::uint64_t n) {
    for (; n > 0; --n) push(l_.public_[public_++]);
  }
  void assert_one() {
    fail_if(pop(), [](std::uint64_t x) { return x != 1; });
  }
  void assert_vector() {
    for (std::size_t k = 0; k < kDigestWords; ++k) {
      const std::uint64_t *x = words(st(k)), *y = words(st(k + kDigestWords));
      for (std::size_t i = 0; i < kLanes; ++i) end_.failed |= lane_bit(x[i] != y[i], i);
    }
    drop(kDigestWords);
  }
  void sponge_init() {
    end_.sponge_touched = true;
    end_.sponge.fill(l_.zero_);
  }
  void merkle_step(const Digest& sibling);
  void merkle_step_secret() { merkle_step(l_.digests_[digests_++]); }
  RowId inverse(RowId a);
  void invert() {
    need_not_zero(st(0));
    st(0) = inverse(st(0));
  }
  void x_invert();
  void split() {
    const RowId a = st(0);
    st(0) = each(a, a, [](std::uint64_t x, std::uint64_t) { return x >> 32; });
    push(each(a, a, [](std::uint64_t x, std::uint64_t) { return x & kU32Max; }));
  }
  void div_mod();
  void u32_function(std::uint64_t (*f)(std::uint64_t)) {
    need_u32(st(0));
    st(0) = each(st(0), st(0), [f](std::uint64_t x, std::uint64_t) { return f(x); });
  }
  void log2_floor() {
    need_not_zero(st(0));
    u32_function([](std::uint64_t x) { return x == 0 ? x : static_cast<std::uint64_t>(std::bit_width(x)) - 1; });
  }
  void pop_count() {
    u32_function([](std::uint64_t x) { return static_cast<std::uint64_t>(std::popcount(x)); });
  }
  RowId of_two(Op op, RowId a, RowId b);

  Lanes& l_;
  LaneEnd& end_;
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

inline void LaneExecution::merkle_step(const Digest& sibling) {
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
