// Runs code: an instruction per function, and the loop over them. The loop and all instructions stand in one file, so
// that the compiler may inline the short ones into the loop.
#include <algorithm>
#include <array>
#include <bit>

#include "jit/tir/vm/machine.h"
#include "jit/tir/vm/profile.h"
#include "jit/tir/vm/u32_table.h"
#include "runtime/base/check.h"
#include "runtime/field/extension.h"

namespace trident::tir::vm {

using field::Extension;
using field::kDigestWords;
using field::kTip5Rate;
using tasm::Op;

/// One run: the registers of the loop, and an instruction per function. Each returns none, or the failure,
/// and leaves the machine as the real one does: words popped before a failure stay popped.
class Execution {
 public:
  explicit Execution(Machine& machine);

  /// Runs, and calls counted(index of the step) after each step.
  template <class Counted>
  void run(Counted counted);

  void run() {
    run([](std::uint32_t) {});
  }
  static void begin(Profile& profile, const Code& code) { profile.begin(code); }
  void run(Profile& profile);

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(top_ - m_.stack_.data()) + 1; }
  [[nodiscard]] Element& st(std::size_t i) { return *(top_ - i); }
  void push(Element e) { *++top_ = e; }
  Element pop() { return *top_--; }
  Failure next() {
    ++ip_;
    return Failure::none;
  }
  Failure fail(Failure failure, std::uint64_t index, Element expected, Element actual) {
    m_.detail_ = {index, expected, actual};
    return failure;
  }
  void use_stack(std::size_t used) {
    top_ = m_.stack_.data() + used - 1;
    room_end_ = m_.stack_.data() + std::min(m_.stack_.size() - Machine::kGrowthMax, m_.budget_.stack_elements);
  }
  bool make_room();

  // --- tables ---

  Failure u32(U32 kind, std::uint64_t left, std::uint64_t right);
  [[nodiscard]] Element ram(Element address) const {
    const std::uint64_t* word = m_.ram_.find({address.value(), 0});
    return word == nullptr ? Element() : Element::canonical(*word);
  }
  void set_ram(Element address, Element value) { *m_.ram_.insert({address.value(), 0}).first = value.value(); }
  void permute(field::Tip5& sponge);

  // --- instructions ---

  Failure is_u32(std::size_t i) {
    return st(i).is_u32() ? Failure::none : fail(Failure::kFailedU32Conversion, i, {}, st(i));
  }
  Failure pick(std::size_t n);
  Failure place(std::size_t n);
  Failure skiz();
  Failure call(std::uint32_t target);
  Failure jump(bool back);
  Failure assert_one() {
    if (st(0) != field::kOne) return fail(Failure::kAssertionFailed, 0, field::kOne, st(0));
    --top_;
    return next();
  }
  Failure assert_vector();
  Failure read_mem(std::uint64_t n);
  Failure write_mem(std::uint64_t n);
  /// Pushes the Tip5 of fixed length of word(0), word(1), ...
  template <class Word>
  void hash(Word word);
  Failure hash_top();
  Failure sponge_absorb();
  Failure sponge_absorb_mem();
  Failure sponge_squeeze();
  Failure invert() {
    if (st(0).is_zero()) return Failure::kInverseOfZero;
    st(0) = inverse(st(0));
    return next();
  }
  Failure split();
  /// Runs lt, and, xor: st0 op st1.
  template <class F>
  Failure u32_pair(U32 kind, F f);
  Failure log_2_floor();
  Failure pop_count();
  Failure pow();
  Failure div_mod();
  /// Returns the element of the extension whose first coefficient is st[i].
  Extension extension(std::size_t i) { return {{st(i), st(i + 1), st(i + 2)}}; }
  void set_extension(std::size_t i, const Extension& x) { st(i) = x.c[0], st(i + 1) = x.c[1], st(i + 2) = x.c[2]; }
  Failure extension_pair(const Extension& result) {
    top_ -= 3;
    set_extension(0, result);
    return next();
  }
  Failure x_invert() {
    if (extension(0).is_zero()) return Failure::kInverseOfZero;
    set_extension(0, inverse(extension(0)));
    return next();
  }
  Failure xb_mul() {
    const Element factor = pop();
    set_extension(0, factor * extension(0));
    return next();
  }
  Extension extension_at(Element& pointer) {
    Extension x;
    for (Element& c : x.c) c = ram(pointer), pointer += field::kOne;
    return x;
  }
  Failure xx_dot_step() {
    const Extension right = extension_at(st(0)), left = extension_at(st(1));
    set_extension(2, extension(2) + right * left);
    return next();
  }
  Failure xb_dot_step();
  /// Does a step of Horner's rule at st0..2; the coefficients lie from the highest down.
  Failure horner_step(const Extension& coefficient, std::uint64_t words) {
    st(5) -= Element::canonical(words);
    set_extension(7, extension(7) * extension(0) + coefficient);
    return next();
  }
  Failure b_horner_step() { return horner_step({{ram(st(5)), {}, {}}}, 1); }
  Failure x_horner_step() {
    Element pointer = st(5) - Element::canonical(2);
    return horner_step(extension_at(pointer), 3);
  }
  Failure read(std::uint64_t n, std::span<const Element> from, std::size_t& taken, Failure empty) {
    if (from.size() - taken < n) return fail(empty, from.size() - taken, {}, {});
    for (; n > 0; --n) push(from[taken++]);
    return next();
  }
  Failure write_io(std::uint64_t n) {
    if (m_.output_.size() + n > m_.budget_.output_words) return Failure::kOutputLimit;
    for (; n > 0; --n) m_.output_.push_back(pop());
    return next();
  }
  Failure merkle_step(const Digest& sibling);
  Failure merkle_step_secret() {
    if (const Failure failure = is_u32(kDigestWords); failure != Failure::none) return failure;
    if (m_.digests_read_ == m_.inputs_.secret_digests.size()) return Failure::kEmptySecretDigestInput;
    return merkle_step(m_.inputs_.secret_digests[m_.digests_read_++]);
  }
  Failure merkle_step_mem();
  Failure execute(const Code::Step& step);

  Machine& m_;
  const Code::Step* steps_;
  std::uint32_t count_, ip_ = 0;
  std::uint64_t cycles_ = 0;
  Element *top_, *room_end_;
  bool halted_ = false;
};

inline Execution::Execution(Machine& machine)
    : m_(machine),
      steps_(machine.code_->steps.data()),
      count_(static_cast<std::uint32_t>(machine.code_->steps.size())) {
  use_stack(m_.size_);
}

inline void Execution::run(Profile& profile) {
  run([&](std::uint32_t executed) {
    profile.count(executed, m_.jumps_.size(), ip_, m_.u32_rows_,
                  m_.cascade_used_ ? m_.cascade_.size() : m_.code_->cascade.size());
  });
}

inline Failure Execution::u32(U32 kind, std::uint64_t left, std::uint64_t right) {
  const auto [value, is_new] = m_.u32_.insert({left, right | static_cast<std::uint64_t>(kind) << 32});
  if (!is_new) return Failure::none;
  m_.u32_rows_ += u32_rows(kind, left, right);
  return m_.u32_.size() > m_.budget_.u32_entries ? Failure::kU32Limit : Failure::none;
}

inline void Execution::permute(field::Tip5& sponge) {
  if (!m_.cascade_used_) m_.cascade_ = m_.code_->cascade, m_.cascade_used_ = true;
  field::Tip5Lookups lookups;
  sponge.permute(lookups);
  m_.cascade_.insert(lookups);
}

inline Failure Execution::pick(std::size_t n) {
  const Element e = st(n);
  std::copy(top_ - n + 1, top_ + 1, top_ - n);
  *top_ = e;
  return next();
}

inline Failure Execution::place(std::size_t n) {
  const Element e = *top_;
  std::copy_backward(top_ - n, top_, top_ + 1);
  st(n) = e;
  return next();
}

inline Failure Execution::skiz() {
  const bool skip = pop().is_zero();
  if (skip && ip_ + 1 >= count_) return Failure::kInstructionPointerOverflow;
  ip_ += skip ? 2 : 1;
  return Failure::none;
}

inline Failure Execution::call(std::uint32_t target) {
  if (m_.jumps_.size() >= m_.budget_.jumps) return Failure::kJumpStackLimit;
  m_.jumps_.push_back({ip_ + 1, target});
  ip_ = target;
  return Failure::none;
}

inline Failure Execution::jump(bool back) {
  if (m_.jumps_.empty()) return Failure::kJumpStackIsEmpty;
  ip_ = back ? m_.jumps_.back().origin : m_.jumps_.back().destination;
  if (back) m_.jumps_.pop_back();
  return Failure::none;
}

inline Failure Execution::assert_vector() {
  for (std::size_t i = 0; i < kDigestWords; ++i)
    if (st(i) != st(i + kDigestWords)) return fail(Failure::kVectorAssertionFailed, i, st(i), st(i + kDigestWords));
  top_ -= kDigestWords;
  return next();
}

inline Failure Execution::read_mem(std::uint64_t n) {
  Element pointer = pop();
  for (; n > 0; --n, pointer -= field::kOne) push(ram(pointer));
  push(pointer);
  return next();
}

inline Failure Execution::hash_top() {
  const Element* const first = top_;
  top_ -= kTip5Rate;
  hash([first](std::size_t i) { return *(first - i); });
  return next();
}

inline Failure Execution::sponge_absorb() {
  if (!m_.sponge_) return Failure::kSpongeNotInitialized;
  for (std::size_t i = 0; i < kTip5Rate; ++i) m_.sponge_->set_word(i, pop());
  permute(*m_.sponge_);
  return next();
}

inline Failure Execution::sponge_squeeze() {
  if (!m_.sponge_) return Failure::kSpongeNotInitialized;
  for (std::size_t i = kTip5Rate; i > 0; --i) push(m_.sponge_->word(i - 1));
  permute(*m_.sponge_);
  return next();
}

inline Failure Execution::xb_dot_step() {
  const Element right = ram(st(0));
  st(0) += field::kOne;
  set_extension(2, extension(2) + right * extension_at(st(1)));
  return next();
}

template <class Counted>
inline void Execution::run(Counted counted) {
  while (true) {
    Failure failure = Failure::none;
    if (ip_ >= count_)
      failure = Failure::kInstructionPointerOverflow;
    else if (cycles_ >= m_.budget_.cycles)
      failure = Failure::kCycleLimit;
    else if (size() < steps_[ip_].size_min)
      failure = Failure::kTooShallow;
    else if (top_ >= room_end_ && !make_room())
      failure = Failure::kStackLimit;
    else {
      const std::uint32_t executed = ip_;
      failure = execute(steps_[ip_]);
      if (failure == Failure::none) {
        ++cycles_;
        ++m_.executions_[executed];
        counted(executed);
        if (!halted_) continue;
      }
    }
    m_.failure_ = failure;
    m_.ip_ = ip_;
    m_.cycles_ = cycles_;
    m_.size_ = size();
    return;
  }
}

inline bool Execution::make_room() {
  const std::size_t used = size();
  if (used > m_.budget_.stack_elements) return false;
  m_.stack_.resize(2 * m_.stack_.size());
  use_stack(used);
  return true;
}

inline Failure Execution::write_mem(std::uint64_t n) {
  if (m_.ram_.size() + n > m_.budget_.ram_words) return Failure::kRamLimit;
  Element pointer = pop();
  for (; n > 0; --n, pointer += field::kOne) set_ram(pointer, pop());
  push(pointer);
  return next();
}

template <class Word>
inline void Execution::hash(Word word) {
  field::Tip5 sponge(field::Tip5::Domain::fixed_length);
  for (std::size_t i = 0; i < kTip5Rate; ++i) sponge.set_word(i, word(i));
  permute(sponge);
  for (std::size_t i = kDigestWords; i > 0; --i) push(sponge.word(i - 1));
}

inline Failure Execution::sponge_absorb_mem() {
  if (!m_.sponge_) return Failure::kSpongeNotInitialized;
  constexpr std::size_t kShown = 4;  // the machine leaves so many words in st1 ..
  Element pointer = st(0);
  for (std::size_t i = 0; i < kTip5Rate; ++i, pointer += field::kOne) {
    const Element word = ram(pointer);
    m_.sponge_->set_word(i, word);
    if (i < kShown) st(1 + i) = word;
  }
  st(0) = pointer;
  permute(*m_.sponge_);
  return next();
}

inline Failure Execution::split() {
  const std::uint64_t value = st(0).value(), low = value & field::kEpsilon, high = value >> 32;
  st(0) = Element::canonical(high);
  push(Element::canonical(low));
  const Failure limit = u32(U32::split, low, high);
  return limit == Failure::none ? next() : limit;
}

template <class F>
inline Failure Execution::u32_pair(U32 kind, F f) {
  for (const std::size_t i : {0, 1})
    if (const Failure failure = is_u32(i); failure != Failure::none) return failure;
  const std::uint64_t left = pop().value(), right = st(0).value();
  st(0) = Element::canonical(f(left, right));
  const Failure limit = u32(kind, left, right);
  return limit == Failure::none ? next() : limit;
}

inline Failure Execution::log_2_floor() {
  if (const Failure failure = is_u32(0); failure != Failure::none) return failure;
  if (st(0).is_zero()) return Failure::kLogarithmOfZero;
  const std::uint64_t value = st(0).value();
  st(0) = Element::canonical(static_cast<std::uint64_t>(std::bit_width(value)) - 1);
  const Failure limit = u32(U32::log_2_floor, value, 0);
  return limit == Failure::none ? next() : limit;
}

inline Failure Execution::pop_count() {
  if (const Failure failure = is_u32(0); failure != Failure::none) return failure;
  const std::uint64_t value = st(0).value();
  st(0) = Element::canonical(static_cast<std::uint64_t>(std::popcount(value)));
  const Failure limit = u32(U32::pop_count, value, 0);
  return limit == Failure::none ? next() : limit;
}

inline Failure Execution::pow() {
  if (const Failure failure = is_u32(1); failure != Failure::none) return failure;
  const Element base = pop();
  const std::uint64_t exponent = st(0).value();
  st(0) = power(base, exponent);
  const Failure limit = u32(U32::pow, base.value(), exponent);
  return limit == Failure::none ? next() : limit;
}

inline Failure Execution::div_mod() {
  for (const std::size_t i : {0, 1})
    if (const Failure failure = is_u32(i); failure != Failure::none) return failure;
  if (st(1).is_zero()) return Failure::kDivisionByZero;
  const std::uint64_t n = st(0).value(), d = st(1).value(), quotient = n / d, remainder = n % d;
  st(1) = Element::canonical(quotient);
  st(0) = Element::canonical(remainder);
  Failure limit = u32(U32::lt, remainder, d);
  if (limit == Failure::none) limit = u32(U32::split, n, quotient);
  return limit == Failure::none ? next() : limit;
}

inline Failure Execution::merkle_step(const Digest& sibling) {
  const std::uint64_t index = st(kDigestWords).value(), parent = index / 2;
  Digest own;
  for (Element& e : own) e = pop();
  const bool right = index % 2 != 0;  // the node is the right child
  hash([&](std::size_t i) {
    const bool first = i < kDigestWords;
    return (first == right ? sibling : own)[first ? i : i - kDigestWords];
  });
  st(kDigestWords) = Element::canonical(parent);
  const Failure limit = u32(U32::split, index, parent);
  return limit == Failure::none ? next() : limit;
}

inline Failure Execution::merkle_step_mem() {
  if (const Failure failure = is_u32(kDigestWords); failure != Failure::none) return failure;
  Element& pointer = st(7);
  Digest sibling;
  for (Element& e : sibling) e = ram(pointer), pointer += field::kOne;
  return merkle_step(sibling);
}

inline Failure Execution::execute(const Code::Step& step) {
  const std::uint64_t n = step.argument.value();
  switch (step.op) {
    case Op::kPop: top_ -= n; return next();
    case Op::kPush: push(step.argument); return next();
    case Op::kDivine: return read(n, m_.inputs_.secret_input, m_.secret_read_, Failure::kEmptySecretInput);
    case Op::kPick: return pick(n);
    case Op::kPlace: return place(n);
    case Op::kDup: push(st(n)); return next();
    case Op::kSwap: std::swap(st(0), st(n)); return next();
    case Op::kHalt: halted_ = true; return next();
    case Op::kNop: return next();
    case Op::kSkiz: return skiz();
    case Op::kCall: return call(step.target);
    case Op::kReturn: return jump(true);
    case Op::kRecurse: return jump(false);
    case Op::kRecurseOrReturn: return jump(st(5) == st(6));
    case Op::kAssert: return assert_one();
    case Op::kReadMem: return read_mem(n);
    case Op::kWriteMem: return write_mem(n);
    case Op::kHash: return hash_top();
    case Op::kAssertVector: return assert_vector();
    case Op::kSpongeInit: m_.sponge_.emplace(); return next();
    case Op::kSpongeAbsorb: return sponge_absorb();
    case Op::kSpongeAbsorbMem: return sponge_absorb_mem();
    case Op::kSpongeSqueeze: return sponge_squeeze();
    case Op::kAdd:
      --top_;
      st(0) += top_[1];
      return next();
    case Op::kAddI: st(0) += step.argument; return next();
    case Op::kMul:
      --top_;
      st(0) *= top_[1];
      return next();
    case Op::kInvert: return invert();
    case Op::kEq:
      --top_;
      st(0) = Element::canonical(st(0) == top_[1] ? 1 : 0);
      return next();
    case Op::kSplit: return split();
    case Op::kLt: return u32_pair(U32::lt, [](std::uint64_t a, std::uint64_t b) { return std::uint64_t{a < b}; });
    case Op::kAnd: return u32_pair(U32::and_, [](std::uint64_t a, std::uint64_t b) { return a & b; });
    case Op::kXor: return u32_pair(U32::and_, [](std::uint64_t a, std::uint64_t b) { return a ^ b; });
    case Op::kLog2Floor: return log_2_floor();
    case Op::kPow: return pow();
    case Op::kDivMod: return div_mod();
    case Op::kPopCount: return pop_count();
    case Op::kXxAdd: return extension_pair(extension(0) + extension(3));
    case Op::kXxMul: return extension_pair(extension(0) * extension(3));
    case Op::kXInvert: return x_invert();
    case Op::kXbMul: return xb_mul();
    case Op::kReadIo: return read(n, m_.inputs_.public_input, m_.public_read_, Failure::kEmptyPublicInput);
    case Op::kWriteIo: return write_io(n);
    case Op::kMerkleStep: return merkle_step_secret();
    case Op::kMerkleStepMem: return merkle_step_mem();
    case Op::kXxDotStep: return xx_dot_step();
    case Op::kXbDotStep: return xb_dot_step();
    case Op::kBHornerStep: return b_horner_step();
    case Op::kXHornerStep: return x_horner_step();
  }
  CHECK(false);
}

Failure Machine::run(const Code& code, const Inputs& inputs, const Budget& budget, Profile* profile) {
  begin(code, inputs, budget);
  if (profile == nullptr) {
    Execution(*this).run();
  } else {
    Execution::begin(*profile, code);
    Execution(*this).run(*profile);
  }
  return failure_;
}

}  // namespace trident::tir::vm
