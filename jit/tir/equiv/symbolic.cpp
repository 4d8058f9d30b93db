#include "jit/tir/equiv/symbolic.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "jit/tir/equiv/functions.h"
#include "jit/tir/equiv/ram.h"
#include "runtime/base/check.h"

namespace trident::tir::equiv {

using field::kDigestWords;
using field::kTip5Rate;
using field::kTip5Width;
using tasm::Op;

namespace {

/// Limits blocks and stores: making an end's normal form takes time that grows with their square.
constexpr std::size_t kInstructionsMax = 4096, kStoresMax = 256;

class Execution : private Functions {
 public:
  Execution(Values& values, End& end, std::size_t cells) : Functions(values, end), v_(values), ram_(values), end_(end) {
    for (std::size_t i = cells; i > 0; --i) push(v_.atom(AtomKind::cell, static_cast<std::uint32_t>(i - 1)));
  }

  /// Runs until the block's end, or until it is known to fail in every run.
  void run(Block block);

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

  // --- quotients ---

  void div_mod();

  // --- hashes ---

  Words permuted(const Words& in, std::size_t wanted);
  /// Pushes the digest of ten words at the front.
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
  void merkle_step(const std::array<Value, kDigestWords>& sibling);
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
  void sponge_absorb_mem();
  void sponge_squeeze() {
    use_sponge();
    for (std::size_t i = kTip5Rate; i > 0; --i) push(sponge_[i - 1]);
    sponge_ = permuted(sponge_, kTip5Width);
  }

  // --- RAM ---

  /// Loads the word at a pointer and increments the pointer.
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
      if (++stores_ > kStoresMax) end_.out_of_reach = "the block has more stores than the proof's limit";
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
  /// Multiplies, with x^3 = x - 1 and x^4 = x^2 - x.
  Extension product(const Extension& a, const Extension& b) {
    std::array<Value, 5> c;
    c.fill(integer(0));
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) c[i + j] = v_.add(c[i + j], v_.multiply(a[i], b[j]));
    return {v_.subtract(c[0], c[3]), v_.subtract(v_.add(c[1], c[3]), c[4]), v_.add(c[2], c[4])};
  }
  /// Fails where the norm is 0, which only the element 0 has; see runtime/field/extension.h.
  void x_invert();
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
  void horner_step(const Extension& coefficient, std::uint64_t words) {
    st(5) = v_.subtract(st(5), integer(words));
    set_extension(7, sum(product(extension(7), extension(0)), coefficient));
  }
  void b_horner_step() { horner_step({ram_.load(st(5)), integer(0), integer(0)}, 1); }
  void x_horner_step() {
    Value pointer = v_.subtract(st(5), integer(2));
    horner_step(loaded_extension(pointer), 3);
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

  void execute(Op op, Element argument);
  /// Applies a binary operation to st0 and st1.
  Value of_two(Op op, Value a, Value b);

  Values& v_;
  Ram ram_;
  End& end_;
  std::vector<Value> stack_;  ///< bottom first
  Words sponge_{};
  bool sponge_touched_ = false;
  std::uint32_t public_ = 0, secret_ = 0, digests_ = 0;
  std::size_t stores_ = 0;
};

void Execution::run(Block block) {
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

void Execution::div_mod() {
  const Value n = st(0), d = st(1);
  require_u32(n);
  require_u32(d);
  require_not_zero(d);
  if (end_.fails) return;
  bool is_atom = false;
  const Value r = remainder(n, d, is_atom);
  const Value q = v_.multiply(v_.subtract(n, r), v_.invert(d));
  // A quotient that is its own atom cannot occur where n and d are not as required.
  if (is_atom && !v_.constant_of(q) && r != n) v_.bound(q, std::min(v_.max_of(n), kU32Max));
  if (const auto y = v_.constant_of(d); y && std::has_single_bit(y->value()))
    mark_quotient(q, n, static_cast<unsigned>(std::countr_zero(y->value())));
  st(1) = q;
  st(0) = r;
}

Execution::Words Execution::permuted(const Words& in, std::size_t wanted) {
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

void Execution::merkle_step(const std::array<Value, kDigestWords>& sibling) {
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

void Execution::sponge_absorb_mem() {
  use_sponge();
  Value pointer = st(0);
  for (std::size_t i = 0; i < kTip5Rate; ++i) {
    sponge_[i] = loaded(pointer);
    if (i < 4) st(1 + i) = sponge_[i];
  }
  st(0) = pointer;
  sponge_ = permuted(sponge_, kTip5Width);
}

void Execution::x_invert() {
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

void Execution::execute(Op op, Element argument) {
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
    case Op::kBHornerStep: return b_horner_step();
    case Op::kXHornerStep: return x_horner_step();
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

Value Execution::of_two(Op op, Value a, Value b) {
  bool is_atom = false;
  if (op == Op::kAdd) return v_.add(a, b);
  if (op == Op::kMul) return v_.multiply(a, b);
  if (op == Op::kEq) return is_zero(v_.subtract(a, b));
  if (op == Op::kLt) return less(a, b);
  if (op == Op::kAnd) return both_bits(a, b, is_atom);
  if (op == Op::kXor) return different_bits(a, b);
  return power(a, b);
}

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
    end.out_of_reach = "the block has more instructions than the proof's limit";
    return end;
  }
  Execution(values, end, cells).run(block.first(shape.executed));
  return end;
}

}  // namespace trident::tir::equiv
