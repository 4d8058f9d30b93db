#include "jit/tir/equiv/symbolic.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "jit/tir/equiv/functions.h"
#include "jit/tir/equiv/ram.h"
#include "jit/tir/equiv/stack_steps.h"
#include "runtime/base/check.h"

namespace trident::tir::equiv {

using field::kDigestWords;
using field::kTip5Width;
using tasm::Op;

namespace {

/// Limits blocks and stores: making an end's normal form takes time that grows with their square.
constexpr std::size_t kInstructionsMax = 4096, kStoresMax = 256;

class Execution : private Functions, private StackSteps<Execution, Value> {
 public:
  Execution(Values& values, End& end, std::size_t cells)
      : Functions(values, end), StackSteps(end.stack), v_(values), ram_(values), end_(end) {
    for (std::size_t i = cells; i > 0; --i) push(v_.atom(AtomKind::cell, static_cast<std::uint32_t>(i - 1)));
  }

  /// Runs until the block's end, or until it is known to fail in every run.
  void run(Block block);

 private:
  friend class StackSteps<Execution, Value>;

  // --- what StackSteps needs ---

  Value sum(Value a, Value b) { return v_.add(a, b); }
  Value difference(Value a, Value b) { return v_.subtract(a, b); }
  Value product(Value a, Value b) { return v_.multiply(a, b); }
  Value zero() { return integer(0); }
  Value one() { return integer(1); }
  Value constant(Element e) { return v_.constant(e); }
  Value load(Value pointer) { return ram_.load(pointer); }
  void store(Value pointer, Value word) {
    ram_.store(pointer, word);
    if (++stores_ > kStoresMax) end_.out_of_reach = "the block has more stores than the proof's limit";
  }
  std::vector<Value>& output() { return end_.output; }
  Words permuted(const Words& in, std::size_t wanted);
  Words& sponge();

  // --- instructions ---

  void divine(std::uint64_t n) { read(AtomKind::secret_word, n, secret_); }
  void read_io(std::uint64_t n) { read(AtomKind::public_word, n, public_); }
  void read(AtomKind kind, std::uint64_t n, std::uint32_t& taken) {
    for (; n > 0; --n) push(v_.atom(kind, taken++));
  }
  void assert_one() { require_zero(v_.subtract(pop(), integer(1))); }
  void assert_vector() {
    for (std::size_t i = 0; i < kDigestWords; ++i) require_zero(v_.subtract(st(i), st(i + kDigestWords)));
    drop(kDigestWords);
  }
  void sponge_init() {
    sponge_touched_ = true;
    sponge_.fill(integer(0));
  }
  void merkle_step(const Digest& sibling);
  void merkle_step_secret() {
    Digest sibling{};
    for (std::uint32_t i = 0; i < kDigestWords; ++i) sibling[i] = v_.atom(AtomKind::digest_word, digests_, i);
    ++digests_;
    merkle_step(sibling);
  }
  void invert() {
    require_not_zero(st(0));
    if (!end_.fails) st(0) = v_.invert(st(0));
  }
  /// Fails where the norm is 0, which only the element 0 has; see runtime/field/extension.h.
  void x_invert();
  void split() {
    const Value a = st(0), low = low_word(a);
    st(0) = high_word(a, low);
    push(low);
  }
  void div_mod();
  void log2_floor() { st(0) = logarithm(st(0)); }
  void pop_count() { st(0) = bit_count(st(0)); }
  /// Applies a binary operation to st0 and st1.
  Value of_two(Op op, Value a, Value b);

  Values& v_;
  Ram ram_;
  End& end_;
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

void Execution::merkle_step(const Digest& sibling) {
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

Execution::Words& Execution::sponge() {
  if (!sponge_touched_)
    for (std::uint32_t i = 0; i < kTip5Width; ++i) sponge_[i] = v_.atom(AtomKind::sponge_word, i);
  sponge_touched_ = true;
  return sponge_;
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
