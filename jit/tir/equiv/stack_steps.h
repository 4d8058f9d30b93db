// The instructions that do the same whatever a word of the stack stands for: those that move words, and those made of
// arithmetic that its user has. A block is executed on values (symbolic.cpp) and in eight states (lane_execution.cpp);
// each gives its own arithmetic, conditions and inputs. Both are compared with the machine (vm/execution.cpp), which
// therefore shares nothing with them.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "jit/tir/equiv/symbolic.h"
#include "runtime/base/check.h"
#include "runtime/field/tip5.h"

namespace trident::tir::equiv {

/// `Execution` derives from this and has, for words: constant(), zero(), one(), sum(), difference(), product(); load()
/// and store() of RAM; sponge(), permuted(); output(); and a function for each instruction that execute() leaves to it.
template <class Execution, class Word>
class StackSteps {
 protected:
  using Words = std::array<Word, field::kTip5Width>;
  using Extension = std::array<Word, 3>;
  using Digest = std::array<Word, field::kDigestWords>;

  explicit StackSteps(std::vector<Word>& stack) : stack_(stack) {}

  Word& st(std::size_t i) { return stack_[stack_.size() - 1 - i]; }
  void push(Word word) { stack_.push_back(word); }
  Word pop() {
    const Word word = stack_.back();
    stack_.pop_back();
    return word;
  }
  void drop(std::size_t words) { stack_.resize(stack_.size() - words); }

  void execute(tasm::Op op, Element argument);

  // --- RAM ---

  /// Loads the word at a pointer and increments the pointer.
  Word loaded(Word& pointer) {
    const Word word = self().load(pointer);
    pointer = self().sum(pointer, self().one());
    return word;
  }
  void read_mem(std::uint64_t n) {
    Word pointer = pop();
    for (; n > 0; --n) {
      push(self().load(pointer));
      pointer = self().difference(pointer, self().one());
    }
    push(pointer);
  }
  void write_mem(std::uint64_t n) {
    Word pointer = pop();
    for (; n > 0; --n) {
      self().store(pointer, pop());
      pointer = self().sum(pointer, self().one());
    }
    push(pointer);
  }

  // --- hashes ---

  /// Pushes the digest of ten words at the front.
  void push_hashed(Words words) {
    std::fill(words.begin() + field::kTip5Rate, words.end(), self().one());
    const Words out = self().permuted(words, field::kDigestWords);
    for (std::size_t i = field::kDigestWords; i > 0; --i) push(out[i - 1]);
  }
  void hash() {
    Words words{};
    for (std::size_t i = 0; i < field::kTip5Rate; ++i) words[i] = pop();
    push_hashed(words);
  }
  void merkle_step_mem() {
    Digest sibling{};
    for (Word& word : sibling) word = loaded(st(7));
    self().merkle_step(sibling);
  }
  void permute(Words& sponge) { sponge = self().permuted(sponge, field::kTip5Width); }
  void sponge_absorb() {
    Words& s = self().sponge();
    for (std::size_t i = 0; i < field::kTip5Rate; ++i) s[i] = pop();
    permute(s);
  }
  void sponge_absorb_mem() {
    Words& s = self().sponge();
    Word pointer = st(0);
    for (std::size_t i = 0; i < field::kTip5Rate; ++i) {
      s[i] = loaded(pointer);
      if (i < 4) st(1 + i) = s[i];
    }
    st(0) = pointer;
    permute(s);
  }
  void sponge_squeeze() {
    Words& s = self().sponge();
    for (std::size_t i = field::kTip5Rate; i > 0; --i) push(s[i - 1]);
    permute(s);
  }

  // --- the extension ---

  Extension extension(std::size_t i) { return {st(i), st(i + 1), st(i + 2)}; }
  void set_extension(std::size_t i, const Extension& x) { st(i) = x[0], st(i + 1) = x[1], st(i + 2) = x[2]; }
  Extension added(const Extension& a, const Extension& b) {
    return {self().sum(a[0], b[0]), self().sum(a[1], b[1]), self().sum(a[2], b[2])};
  }
  Extension scaled(Word a, const Extension& b) {
    return {self().product(a, b[0]), self().product(a, b[1]), self().product(a, b[2])};
  }
  /// Multiplies, with x^3 = x - 1 and x^4 = x^2 - x.
  Extension multiplied(const Extension& a, const Extension& b) {
    std::array<Word, 5> c;
    c.fill(self().zero());
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) c[i + j] = self().sum(c[i + j], self().product(a[i], b[j]));
    return {self().difference(c[0], c[3]), self().difference(self().sum(c[1], c[3]), c[4]), self().sum(c[2], c[4])};
  }
  void replace_pair(const Extension& result) {
    drop(3);
    set_extension(0, result);
  }
  Extension loaded_extension(Word& pointer) {
    Extension x{};
    for (Word& c : x) c = loaded(pointer);
    return x;
  }
  void xb_mul() {
    const Word factor = pop();
    set_extension(0, scaled(factor, extension(0)));
  }
  void xx_dot_step() {
    const Extension right = loaded_extension(st(0)), left = loaded_extension(st(1));
    set_extension(2, added(extension(2), multiplied(right, left)));
  }
  void xb_dot_step() {
    const Word right = loaded(st(0));
    set_extension(2, added(extension(2), scaled(right, loaded_extension(st(1)))));
  }
  void horner_step(const Extension& coefficient, std::uint64_t words) {
    st(5) = self().difference(st(5), self().constant(Element(words)));
    set_extension(7, added(multiplied(extension(7), extension(0)), coefficient));
  }
  void b_horner_step() { horner_step({self().load(st(5)), self().zero(), self().zero()}, 1); }
  void x_horner_step() {
    Word pointer = self().difference(st(5), self().constant(Element(2)));
    horner_step(loaded_extension(pointer), 3);
  }

 private:
  Execution& self() { return static_cast<Execution&>(*this); }

  std::vector<Word>& stack_;  ///< bottom first
};

template <class Execution, class Word>
inline void StackSteps<Execution, Word>::execute(tasm::Op op, Element argument) {
  using tasm::Op;
  const std::uint64_t n = argument.value();
  const auto place = [&](std::uint64_t i) { return stack_.end() - 1 - static_cast<std::ptrdiff_t>(i); };
  switch (op) {
    case Op::kPop: return drop(n);
    case Op::kPush: return push(self().constant(argument));
    case Op::kDivine: return self().divine(n);
    case Op::kPick: std::rotate(place(n), place(n) + 1, stack_.end()); return;
    case Op::kPlace: std::rotate(place(n), stack_.end() - 1, stack_.end()); return;
    case Op::kDup: return push(st(n));
    case Op::kSwap: return std::swap(st(0), st(n));
    case Op::kNop: return;
    case Op::kAssert: return self().assert_one();
    case Op::kReadMem: return read_mem(n);
    case Op::kWriteMem: return write_mem(n);
    case Op::kHash: return hash();
    case Op::kAssertVector: return self().assert_vector();
    case Op::kSpongeInit: return self().sponge_init();
    case Op::kSpongeAbsorb: return sponge_absorb();
    case Op::kSpongeAbsorbMem: return sponge_absorb_mem();
    case Op::kSpongeSqueeze: return sponge_squeeze();
    case Op::kAddI: st(0) = self().sum(st(0), self().constant(argument)); return;
    case Op::kInvert: return self().invert();
    case Op::kSplit: return self().split();
    case Op::kLog2Floor: return self().log2_floor();
    case Op::kDivMod: return self().div_mod();
    case Op::kPopCount: return self().pop_count();
    case Op::kXxAdd: return replace_pair(added(extension(0), extension(3)));
    case Op::kXxMul: return replace_pair(multiplied(extension(0), extension(3)));
    case Op::kXInvert: return self().x_invert();
    case Op::kReadIo: return self().read_io(n);
    case Op::kWriteIo:
      for (std::uint64_t i = 0; i < n; ++i) self().output().push_back(pop());
      return;
    case Op::kMerkleStep: return self().merkle_step_secret();
    case Op::kMerkleStepMem: return merkle_step_mem();
    case Op::kXxDotStep: return xx_dot_step();
    case Op::kXbDotStep: return xb_dot_step();
    case Op::kBHornerStep: return b_horner_step();
    case Op::kXHornerStep: return x_horner_step();
    case Op::kXbMul: return xb_mul();
    case Op::kAdd:
    case Op::kMul:
    case Op::kEq:
    case Op::kLt:
    case Op::kAnd:
    case Op::kXor:
    case Op::kPow: {
      const Word first = pop();
      st(0) = self().of_two(op, first, st(0));
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

}  // namespace trident::tir::equiv
