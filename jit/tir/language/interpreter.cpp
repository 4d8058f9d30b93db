#include "jit/tir/language/interpreter.h"

#include <algorithm>
#include <bit>
#include <map>

#include "runtime/base/check.h"
#include "runtime/field/extension.h"

namespace trident::tir::language {
namespace {

using field::Extension;
using field::kDigestWords;
using tasm::kRegisters;

// Holds stack, RAM and sponge of a run, and does what operations do with them. Reads below the bottom of the stack set
// below_, and st() then returns a spare element.
class Machine {
 protected:
  explicit Machine(const Inputs& inputs) : inputs_(inputs) {
    out_.stack.assign(inputs.stack.begin(), inputs.stack.end());
    for (const auto& [address, word] : inputs.ram) ram(address) = word;
  }

  /// Outcome of one operation.
  enum class Flow : std::uint8_t { goes_on, returns, halts, fails, over_budget };

  static Flow when(bool good) { return good ? Flow::goes_on : Flow::fails; }

  // --- the stack ---

  [[nodiscard]] bool shallow() const { return below_ || out_.stack.size() < kRegisters; }
  Element& st(std::size_t i) {
    if (i < out_.stack.size()) return out_.stack[out_.stack.size() - 1 - i];
    below_ = true;
    return spare_;
  }
  Element pop() {
    const Element top = st(0);
    if (!out_.stack.empty()) out_.stack.pop_back();
    return top;
  }
  void drop(std::uint64_t n) {
    for (; n > 0; --n) pop();
  }
  void push(Element e) { out_.stack.push_back(e); }
  void push_number(std::uint64_t n) { push(Element(n)); }
  template <std::size_t N>
  std::array<Element, N> pop_array() {
    std::array<Element, N> out;
    for (Element& e : out) e = pop();
    return out;
  }
  template <std::size_t N>
  void push_array(const std::array<Element, N>& list) {
    for (std::size_t i = N; i-- > 0;) push(list[i]);
  }

  // --- shared by several operations ---

  Element& ram(Element address) { return out_.ram[address.value()]; }
  Extension ram_extension(Element at) { return {{ram(at), ram(at + field::kOne), ram(at + Element(2))}}; }
  Flow read(std::uint64_t n, std::span<const Element> from, std::size_t& taken) {
    if (from.size() - taken < n) return Flow::fails;
    for (; n > 0; --n) push(from[taken++]);
    return Flow::goes_on;
  }
  void write(std::uint64_t n) {
    for (; n > 0; --n) out_.output.push_back(pop());
  }
  /// Replaces b under a, both 32 bits wide, by f's result.
  template <class F>
  Flow u32_pair(F f) {
    const Element b = pop(), a = pop();
    if (!a.is_u32() || !b.is_u32()) return Flow::fails;
    push_number(f(a.value(), b.value()));
    return Flow::goes_on;
  }
  Flow divide(Element a, Element b) {
    if (!a.is_u32() || !b.is_u32() || b.is_zero()) return Flow::fails;
    push_number(a.value() / b.value());
    push_number(a.value() % b.value());
    return Flow::goes_on;
  }
  Flow shift_right() {
    const Element count = pop(), a = pop();
    if (!count.is_u32()) return Flow::fails;
    const Element divisor = power(Element(2), count.value());
    if (!a.is_u32() || !divisor.is_u32()) return Flow::fails;
    push_number(a.value() / divisor.value());
    return Flow::goes_on;
  }
  Flow raise(Element base, Element exponent) {
    if (!exponent.is_u32()) return Flow::fails;
    push(power(base, exponent.value()));
    return Flow::goes_on;
  }
  Flow assert_all(std::uint64_t n) {
    if (n == 1) return when(pop() == field::kOne);
    for (std::size_t i = 0; i < n; ++i)
      if (st(i) != st(i + n)) return Flow::fails;
    drop(n);
    return Flow::goes_on;
  }
  void hash() { push_array(tip5_hash_10(pop_array<field::kTip5Rate>())); }
  Flow absorb(const std::array<Element, field::kTip5Rate>& words) {
    if (!out_.sponge) return Flow::fails;
    for (std::size_t i = 0; i < words.size(); ++i) out_.sponge->set_word(i, words[i]);
    out_.sponge->permute();
    return Flow::goes_on;
  }
  Flow sponge_load() {
    std::array<Element, field::kTip5Rate> words;
    if (!out_.sponge) return Flow::fails;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = ram(st(0) + Element(i));
    for (std::size_t i = 1; i < 5; ++i) st(i) = words[i - 1];
    st(0) += Element(words.size());
    return absorb(words);
  }
  Flow squeeze() {
    if (!out_.sponge) return Flow::fails;
    for (std::size_t i = field::kTip5Rate; i-- > 0;) push(out_.sponge->word(i));
    out_.sponge->permute();
    return Flow::goes_on;
  }
  Flow merkle(const field::Digest& sibling) {
    const auto own = pop_array<kDigestWords>();
    const std::uint64_t index = st(0).value();
    push_array(index % 2 == 0 ? tip5_hash_pair(own, sibling) : tip5_hash_pair(sibling, own));
    st(kDigestWords) = Element(index / 2);
    return Flow::goes_on;
  }
  Flow merkle_secret() {
    if (!st(5).is_u32() || digests_read_ == inputs_.secret_digests.size()) return Flow::fails;
    return merkle(inputs_.secret_digests[digests_read_++]);
  }
  Flow merkle_ram() {
    if (!st(5).is_u32()) return Flow::fails;
    field::Digest sibling;
    for (std::size_t i = 0; i < kDigestWords; ++i) sibling[i] = ram(st(7) + Element(i));
    st(7) += Element(kDigestWords);
    return merkle(sibling);
  }
  Extension pop_extension() {
    const auto words = pop_array<3>();
    return {{words[0], words[1], words[2]}};
  }
  void push_extension(const Extension& x) { push_array(std::array{x.c[0], x.c[1], x.c[2]}); }
  Flow invert_extension() {
    const Extension x = pop_extension();
    push_extension(inverse(x));
    return when(!x.is_zero());
  }
  void fold(const Extension& term, std::uint64_t right_words) {
    for (std::size_t i = 0; i < 3; ++i) st(2 + i) += term.c[i];
    st(0) += Element(right_words);
    st(1) += Element(3);
  }
  void horner(const Extension& coefficient, std::uint64_t words) {
    const Extension at{{st(0), st(1), st(2)}};
    const Extension sum = at * Extension{{st(7), st(8), st(9)}} + coefficient;
    for (std::size_t i = 0; i < 3; ++i) st(7 + i) = sum.c[i];
    st(5) -= Element(words);
  }
  Flow invert() {
    const Element a = pop();
    push(inverse(a));
    return when(!a.is_zero());
  }
  Flow log2() {
    const Element a = pop();
    if (!a.is_u32() || a.is_zero()) return Flow::fails;
    push_number(static_cast<std::uint64_t>(std::bit_width(a.value())) - 1);
    return Flow::goes_on;
  }
  Flow pop_count() {
    const Element a = pop();
    push_number(static_cast<std::uint64_t>(std::popcount(a.value())));
    return when(a.is_u32());
  }
  void split() {
    const std::uint64_t a = pop().value();
    push_number(a >> 32);
    push_number(a & 0xffff'ffff);
  }
  void read_mem(std::uint64_t n) {
    Element p = pop();
    for (; n > 0; --n, p -= field::kOne) push(ram(p));
    push(p);
  }
  void write_mem(std::uint64_t n) {
    Element p = pop();
    for (; n > 0; --n, p += field::kOne) ram(p) = pop();
    push(p);
  }
  void seal(const Operation& operation) {
    std::array<Element, field::kTip5Rate> words{};
    words[0] = operation.element;
    for (std::size_t i = words.size() - operation.number; i < words.size(); ++i) words[i] = pop();
    for (const Element e : tip5_hash_10(words)) out_.output.push_back(e);
  }

  const Inputs& inputs_;
  Outcome out_;
  bool below_ = false;
  Element spare_;
  std::size_t public_read_ = 0, secret_read_ = 0, digests_read_ = 0;
};

// Runs operations in order, and those that hold others.
class Interpreter : private Machine {
 public:
  Interpreter(const Program& program, const Inputs& inputs, std::uint64_t operations_max)
      : Machine(inputs), program_(program), left_(operations_max) {
    const auto& all = program.operations;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].op == Op::kFnStart) functions_.emplace(all[i].name, i + 1);
  }

  Outcome run() {
    const Flow flow = sequence(program_.operations);
    out_.end = flow == Flow::halts         ? Outcome::End::halted
               : flow == Flow::over_budget ? Outcome::End::out_of_budget
                                           : Outcome::End::failed;
    return std::move(out_);
  }

 private:
  Flow sequence(std::span<const Operation> operations) {
    for (const Operation& operation : operations) {
      if (operation.op == Op::kFnEnd) break;
      if (left_ == 0) return Flow::over_budget;
      --left_;
      Flow flow = step(operation);
      if (flow == Flow::goes_on && shallow()) flow = Flow::fails;
      if (flow == Flow::fails && out_.at == nullptr) out_.at = &operation;
      if (flow != Flow::goes_on) return flow;
    }
    return Flow::goes_on;
  }
  Flow nested(std::span<const Operation> operations) {
    if (depth_ == kDepthMax) return Flow::over_budget;
    ++depth_;
    const Flow flow = sequence(operations);
    --depth_;
    return flow;
  }
  Flow call(const std::string& name) {
    const std::size_t start = functions_.find(name)->second;
    const Flow flow = nested(std::span(program_.operations).subspan(start));
    return flow == Flow::returns ? Flow::goes_on : flow;
  }
  Flow loop(const Operation& operation) {
    while (!st(0).is_zero()) {
      if (left_ == 0) return Flow::over_budget;
      --left_;
      st(0) -= field::kOne;
      if (const Flow flow = nested(operation.body); flow != Flow::goes_on) return flow;
    }
    return Flow::goes_on;
  }

  /// Runs operations that contain or call others; separate, so that nesting takes little of our own stack.
  Flow step(const Operation& operation) {
    if (operation.op == Op::kCall) return call(operation.name);
    if (operation.op == Op::kIfElse || operation.op == Op::kIfOnly) {
      const bool yes = !pop().is_zero();
      if (shallow()) return Flow::fails;
      return nested(yes ? operation.body : operation.otherwise);
    }
    if (operation.op == Op::kLoop) return loop(operation);
    if (operation.op == Op::kProofBlock) return nested(operation.body);
    if (operation.op == Op::kEntry) {
      const Flow flow = call(operation.name);
      return flow == Flow::goes_on ? Flow::halts : flow;
    }
    return alone(operation);
  }

  [[gnu::noinline]] Flow alone(const Operation& operation);

  Flow assembly(const Operation& operation) {
    for (const tasm::Instruction& instruction : operation.assembly) {
      const Flow flow = instruction_step(instruction);
      if (flow != Flow::goes_on || shallow()) return Flow::fails;
    }
    return Flow::goes_on;
  }
  /// Runs a TASM instruction: those that TIR lacks or names otherwise here, the others as the operation of TIR.
  Flow instruction_step(const tasm::Instruction& instruction);

  const Program& program_;
  std::uint64_t left_;
  std::map<std::string, std::size_t, std::less<>> functions_;
  unsigned depth_ = 0;
};

Interpreter::Flow Interpreter::alone(const Operation& operation) {
  const std::uint64_t n = operation.number;
  switch (operation.op) {
    case Op::kReturn: return Flow::returns;
    case Op::kHalt: return Flow::halts;
    case Op::kCall:
    case Op::kIfElse:
    case Op::kIfOnly:
    case Op::kLoop:
    case Op::kEntry:
    case Op::kProofBlock: CHECK(false);     // by step()
    case Op::kFnStart: return Flow::fails;  // a checked program does not run into a function
    case Op::kFnEnd:
    case Op::kComment: return Flow::goes_on;
    case Op::kAsm: return assembly(operation);
    case Op::kPush: push(operation.element); return Flow::goes_on;
    case Op::kPop: drop(n); return Flow::goes_on;
    case Op::kDup: push(Element(st(n))); return Flow::goes_on;
    case Op::kSwap: std::swap(st(0), st(n)); return Flow::goes_on;
    case Op::kAdd: push(pop() + pop()); return Flow::goes_on;
    case Op::kSub: {
      const Element b = pop(), a = pop();
      push(a - b);
      return Flow::goes_on;
    }
    case Op::kMul: push(pop() * pop()); return Flow::goes_on;
    case Op::kNeg: st(0) = -st(0); return Flow::goes_on;
    case Op::kInvert: return invert();
    case Op::kEq: push_number(pop() == pop() ? 1 : 0); return Flow::goes_on;
    case Op::kLt: return u32_pair([](std::uint64_t a, std::uint64_t b) { return std::uint64_t{a < b}; });
    case Op::kAnd: return u32_pair([](std::uint64_t a, std::uint64_t b) { return a & b; });
    case Op::kOr: return u32_pair([](std::uint64_t a, std::uint64_t b) { return a | b; });
    case Op::kXor: return u32_pair([](std::uint64_t a, std::uint64_t b) { return a ^ b; });
    case Op::kPopCount: return pop_count();
    case Op::kSplit: split(); return Flow::goes_on;
    case Op::kDivMod: {
      const Element b = pop(), a = pop();
      return divide(a, b);
    }
    case Op::kShl: {
      const Element count = pop(), a = pop();
      push(a * power(Element(2), count.value() & 0xffff'ffff));
      return when(count.is_u32());
    }
    case Op::kShr: return shift_right();
    case Op::kLog2: return log2();
    case Op::kPow: {
      const Element exponent = pop(), base = pop();
      return raise(base, exponent);
    }
    case Op::kReadIo: return read(n, inputs_.public_input, public_read_);
    case Op::kWriteIo: write(n); return Flow::goes_on;
    case Op::kReadMem: read_mem(n); return Flow::goes_on;
    case Op::kWriteMem: write_mem(n); return Flow::goes_on;
    case Op::kAssert: return assert_all(n);
    case Op::kHash: hash(); return Flow::goes_on;
    case Op::kReveal:
      out_.output.push_back(operation.element);
      write(n);
      return Flow::goes_on;
    case Op::kSeal: seal(operation); return Flow::goes_on;
    case Op::kRamRead: {
      const Element p = pop();
      for (std::uint64_t i = n; i-- > 0;) push(ram(p + Element(i)));
      return Flow::goes_on;
    }
    case Op::kRamWrite: {
      const Element p = st(n);
      for (std::uint64_t i = 0; i < n; ++i) ram(p + Element(i)) = pop();
      pop();
      return Flow::goes_on;
    }
    case Op::kHint: return read(n, inputs_.secret_input, secret_read_);
    case Op::kSpongeInit: out_.sponge.emplace(); return Flow::goes_on;
    case Op::kSpongeAbsorb: {
      const auto words = pop_array<field::kTip5Rate>();
      return below_ ? Flow::fails : absorb(words);
    }
    case Op::kSpongeSqueeze: return squeeze();
    case Op::kSpongeLoad: return sponge_load();
    case Op::kMerkleStep: return merkle_secret();
    case Op::kMerkleLoad: return merkle_ram();
    case Op::kExtMul: push_extension(pop_extension() * pop_extension()); return Flow::goes_on;
    case Op::kExtInvert: return invert_extension();
    case Op::kFoldExt: fold(ram_extension(st(0)) * ram_extension(st(1)), 3); return Flow::goes_on;
    case Op::kFoldBase: fold(ram(st(0)) * ram_extension(st(1)), 1); return Flow::goes_on;
  }
  CHECK(false);
}

Interpreter::Flow Interpreter::instruction_step(const tasm::Instruction& instruction) {
  using T = tasm::Op;
  Operation same;
  same.number = instruction.argument_of_amounts();
  same.element = instruction.argument;
  const auto as = [&](Op op, std::uint64_t number) {
    same.op = op;
    same.number = number;
    return step(same);
  };
  const std::uint64_t n = same.number;
  const auto begin = [&] { return out_.stack.end() - 1 - static_cast<std::ptrdiff_t>(n); };
  switch (instruction.op) {
    case T::kPop: return as(Op::kPop, n);
    case T::kPush: return as(Op::kPush, 0);
    case T::kDivine: return as(Op::kHint, n);
    case T::kPick: std::rotate(begin(), begin() + 1, out_.stack.end()); return Flow::goes_on;
    case T::kPlace: std::rotate(begin(), out_.stack.end() - 1, out_.stack.end()); return Flow::goes_on;
    case T::kDup: return as(Op::kDup, n);
    case T::kSwap: return as(Op::kSwap, n);
    case T::kNop: return Flow::goes_on;
    case T::kAssert: return as(Op::kAssert, 1);
    case T::kReadMem: return as(Op::kReadMem, n);
    case T::kWriteMem: return as(Op::kWriteMem, n);
    case T::kHash: return as(Op::kHash, 0);
    case T::kAssertVector: return as(Op::kAssert, 5);
    case T::kSpongeInit: return as(Op::kSpongeInit, 0);
    case T::kSpongeAbsorb: return as(Op::kSpongeAbsorb, 0);
    case T::kSpongeAbsorbMem: return as(Op::kSpongeLoad, 0);
    case T::kSpongeSqueeze: return as(Op::kSpongeSqueeze, 0);
    case T::kAdd: return as(Op::kAdd, 0);
    case T::kAddI: st(0) += instruction.argument; return Flow::goes_on;
    case T::kMul: return as(Op::kMul, 0);
    case T::kInvert: return as(Op::kInvert, 0);
    case T::kEq: return as(Op::kEq, 0);
    case T::kSplit: return as(Op::kSplit, 0);
    case T::kLt: std::swap(st(0), st(1)); return as(Op::kLt, 0);
    case T::kAnd: return as(Op::kAnd, 0);
    case T::kXor: return as(Op::kXor, 0);
    case T::kLog2Floor: return as(Op::kLog2, 0);
    case T::kPow: std::swap(st(0), st(1)); return as(Op::kPow, 0);
    case T::kDivMod: std::swap(st(0), st(1)); return as(Op::kDivMod, 0);
    case T::kPopCount: return as(Op::kPopCount, 0);
    case T::kXxAdd: push_extension(pop_extension() + pop_extension()); return Flow::goes_on;
    case T::kXxMul: return as(Op::kExtMul, 0);
    case T::kXInvert: return as(Op::kExtInvert, 0);
    case T::kXbMul: {
      const Element factor = pop();
      push_extension(factor * pop_extension());
      return Flow::goes_on;
    }
    case T::kReadIo: return as(Op::kReadIo, n);
    case T::kWriteIo: return as(Op::kWriteIo, n);
    case T::kMerkleStep: return as(Op::kMerkleStep, 0);
    case T::kMerkleStepMem: return as(Op::kMerkleLoad, 0);
    case T::kXxDotStep: return as(Op::kFoldExt, 0);
    case T::kXbDotStep: return as(Op::kFoldBase, 0);
    case T::kBHornerStep: horner({{ram(st(5)), {}, {}}}, 1); return Flow::goes_on;
    case T::kXHornerStep: horner(ram_extension(st(5) - Element(2)), 3); return Flow::goes_on;
    case T::kHalt:
    case T::kSkiz:
    case T::kCall:
    case T::kReturn:
    case T::kRecurse:
    case T::kRecurseOrReturn: break;  // the parser accepts none of them
  }
  CHECK(false);
}

}  // namespace

Outcome interpret(const Program& program, const Inputs& inputs, std::uint64_t operations_max) {
  CHECK(inputs.stack.size() >= kRegisters);
  return Interpreter(program, inputs, operations_max).run();
}

}  // namespace trident::tir::language
