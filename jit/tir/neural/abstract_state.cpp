#include "jit/tir/neural/abstract_state.h"

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "runtime/base/check.h"
#include "runtime/field/extension.h"
#include "runtime/tensor/generator.h"

namespace trident::tir::neural {
namespace {

using field::Extension;
using tasm::Op;
using tensor::mix;

constexpr std::uint64_t kSlotSeed = 0x51a7, kWorkSeed = 0x3c4b, kWordSeed = 0x77e1;
constexpr std::uint64_t kStoreSeed = 0x5707, kLoadSeed = 0x10ad;

std::uint64_t mixed(std::uint64_t seed, std::initializer_list<std::uint64_t> parts) {
  for (const std::uint64_t part : parts) seed = mix(seed ^ mix(part));
  return seed;
}

/// Returns an element that looks random, and is never a u32.
Element random_element(std::uint64_t seed) {
  return Element((mix(seed) >> 1) | (std::uint64_t{1} << 62));
}

}  // namespace

Element slot_value(std::size_t slot) {
  return random_element(mixed(kSlotSeed, {slot}));
}

std::string_view name_of(Type type) {
  switch (type) {
    case Type::none: return "none";
    case Type::field: return "field";
    case Type::u32: return "u32";
    case Type::boolean: return "bool";
    case Type::digest: return "digest";
    case Type::extension: return "extension";
    case Type::address: return "address";
  }
  CHECK(false);
}

AbstractState::AbstractState() {
  for (std::size_t c = 0; c < kChainCount; ++c) chains_[c] = mixed(kWorkSeed, {c});
  stack_.reserve(2 * tasm::kRegisters);
}

void AbstractState::reach(std::size_t depth) {
  while (stack_.size() < depth) {
    const Cell slot{slot_value(dug_), static_cast<Origin>(kSlotOrigin + dug_), Type::field};
    stack_.insert(stack_.begin(), slot);
    ++dug_;
  }
}

Cell AbstractState::at(std::size_t depth) const {
  if (depth < stack_.size()) return stack_[stack_.size() - 1 - depth];
  const std::size_t slot = depth - stack_.size() + dug_;
  return {slot_value(slot), static_cast<Origin>(kSlotOrigin + slot), Type::field};
}

bool surely_distinct(Element a, Element b) {
  // A constant difference is a u32 or minus one; differences of unknown values practically never are.
  return a != b && ((a - b).is_u32() || (b - a).is_u32());
}

bool AbstractState::has_store(std::uint64_t work) const {
  return std::any_of(stores_.begin(), stores_.end(), [&](const Store& s) { return s.name == work; });
}

bool AbstractState::same_effects(const AbstractState& other) const {
  return chains_ == other.chains_ && conditions_ == other.conditions_;
}

bool AbstractState::same(const AbstractState& other) const {
  if (height() != other.height() || lowest_ != other.lowest_ || !same_effects(other)) return false;
  const std::size_t depth = std::max(stack_.size(), other.stack_.size());
  for (std::size_t d = 0; d < depth; ++d)
    if (at(d).value != other.at(d).value) return false;
  return true;
}

std::uint64_t AbstractState::fingerprint() const {
  std::uint64_t print = mixed(kWorkSeed, {static_cast<std::uint64_t>(height()), static_cast<std::uint64_t>(lowest_)});
  for (const std::uint64_t c : chains_) print = mixed(print, {c});
  for (const std::uint64_t c : conditions_) print = mixed(print, {c});
  // Slots at the bottom that are unchanged do not count: another block may not have touched them.
  std::size_t from = 0;
  while (from < stack_.size() && from < dug_ && stack_[from].value == slot_value(dug_ - 1 - from)) ++from;
  print = mixed(print, {dug_ - from});
  for (std::size_t i = from; i < stack_.size(); ++i) print = mixed(print, {stack_[i].value.value()});
  return print;
}

bool on_chain(Chain c, std::uint16_t effects) {
  switch (c) {
    case Chain::ram: return (effects & (tasm::kReadsRam | tasm::kWritesRam)) != 0;
    case Chain::secret: return (effects & tasm::kSecret) != 0;
    case Chain::input: return (effects & tasm::kPublicInput) != 0;
    case Chain::output: return (effects & tasm::kPublicOutput) != 0;
    case Chain::sponge: return (effects & tasm::kSponge) != 0;
  }
  CHECK(false);
}

/// Runs one instruction on one state.
class AbstractRun {
 public:
  AbstractRun(AbstractState& state, const Instruction& instruction, Origin node, Step& step)
      : state_(state), op_(instruction.op), argument_(instruction.argument), node_(node), step_(step) {}

  void run();

 private:
  [[nodiscard]] Element in(std::size_t i) const { return step_.operands[i].value; }
  void operand(std::size_t depth) {
    if (step_.operand_count < Step::kOperandsMax) step_.operands[step_.operand_count++] = state_.at(depth);
  }
  void push(Element value, Type type) {
    state_.stack_.push_back({value, node_, type});
    step_.result = type;
  }
  std::uint64_t& chain(Chain c) { return state_.chains_[static_cast<std::size_t>(c)]; }

  /// Runs pushes, moves and drops; false for any other instruction.
  bool move(std::size_t n);
  void note_chains(std::uint16_t effects) {
    for (std::size_t c = 0; c < kChainCount; ++c) step_.chains[c] = on_chain(static_cast<Chain>(c), effects);
  }
  /// Links the work to every chain in `effects`. Work that only reads RAM depends on its chain but is no link of it.
  std::uint64_t linked(std::uint16_t effects, std::uint64_t work) {
    for (std::size_t c = 0; c < kChainCount; ++c)
      if (step_.chains[c]) work = mixed(work, {state_.chains_[c]});
    for (std::size_t c = 0; c < kChainCount; ++c)
      if (step_.chains[c] && (static_cast<Chain>(c) != Chain::ram || (effects & tasm::kWritesRam)))
        state_.chains_[c] = work;
    return work;
  }
  [[nodiscard]] std::uint64_t work_of_operands() const {
    std::uint64_t work = mixed(kWorkSeed, {tasm::row(op_).opcode, argument_.value()});
    const bool commutes = op_ == Op::kAdd || op_ == Op::kMul || op_ == Op::kEq || op_ == Op::kXor || op_ == Op::kAnd;
    if (commutes && in(0).value() > in(1).value()) return mixed(work, {in(1).value(), in(0).value()});
    for (std::size_t i = 0; i < step_.operand_count; ++i) work = mixed(work, {in(i).value()});
    return work;
  }
  /// True if an instruction that may fail has constant operands with which it does not.
  [[nodiscard]] bool known_to_hold() const {
    if (op_ == Op::kAssert) return in(0) == field::kOne;
    if (op_ == Op::kPow) return in(1).is_u32();
    if (op_ == Op::kInvert || op_ == Op::kLog2Floor) return in(0).is_u32() && !in(0).is_zero();
    if (op_ == Op::kPopCount) return in(0).is_u32();
    if (op_ == Op::kLt || op_ == Op::kAnd || op_ == Op::kXor) return in(0).is_u32() && in(1).is_u32();
    return op_ == Op::kDivMod && in(0).is_u32() && in(1).is_u32() && !in(1).is_zero();
  }
  void add_condition() {
    auto& all = state_.conditions_;
    const auto place = std::lower_bound(all.begin(), all.end(), work_);
    if (place == all.end() || *place != work_) all.insert(place, work_);
  }

  /// Sums the names of the stores that may be at the address, without one that surely is.
  [[nodiscard]] std::uint64_t may_be_at(Element address) const {
    std::uint64_t sum = 0;
    for (const auto& s : state_.stores_)
      if (s.address != address && !surely_distinct(s.address, address)) sum += s.name;
    return sum;
  }
  void store_word(Element address, Element value);
  Element load_word(Element address);

  /// Splits work on n words into that of n single words: `read_io 2` does the work of two `read_io 1`.
  bool by_words(std::size_t n);

  /// Returns word `i` of a result that is not computed.
  [[nodiscard]] Element word(std::size_t i) const { return random_element(mixed(work_, {kWordSeed, i})); }
  /// Pushes `count` words that are not computed, word 0 on top.
  void push_words(std::size_t count, Type type) {
    for (std::size_t i = count; i-- > 0;) push(word(i), type);
  }
  void push_extension(const Extension& x) {
    for (std::size_t i = 3; i-- > 0;) push(x.c[i], Type::extension);
  }
  [[nodiscard]] Extension extension(std::size_t first) const { return {{in(first), in(first + 1), in(first + 2)}}; }
  [[nodiscard]] Type type_of_sum() const {
    const bool address =
        step_.operands[0].type == Type::address || (op_ == Op::kAdd && step_.operands[1].type == Type::address);
    return address ? Type::address : Type::field;
  }

  bool compute_field();
  bool compute_u32();

  /// Moves pointers by a known number of words; other results are unknown.
  bool compute_memory();
  void compute_rest(std::size_t gives);

  AbstractState& state_;
  Op op_;
  Element argument_;
  Origin node_;
  Step& step_;
  std::uint64_t work_ = 0;
};

inline void AbstractRun::run() {
  const tasm::InstructionRow& row = tasm::row(op_);
  const bool amounts = row.argument == tasm::Argument::count || row.argument == tasm::Argument::index;
  const auto n = amounts ? static_cast<std::size_t>(argument_.value()) : 0;
  const std::size_t takes = row.takes.of(n);
  state_.reach(takes);
  step_ = {};
  note_chains(row.effects);
  if (move(n)) return;
  for (std::size_t i = 0; i < takes; ++i) operand(i);
  state_.stack_.resize(state_.stack_.size() - takes);
  if (by_words(n)) return;
  work_ = linked(row.effects, work_of_operands());
  step_.work[step_.work_count++] = work_;
  if ((row.effects & (tasm::kMayFail | tasm::kAsserts)) && !known_to_hold()) add_condition();
  if (!compute_field() && !compute_u32() && !compute_memory()) compute_rest(row.gives.of(n));
}

inline bool AbstractRun::move(std::size_t n) {
  auto& stack = state_.stack_;
  const auto cell = [&](std::size_t depth) { return stack.end() - 1 - static_cast<std::ptrdiff_t>(depth); };
  if (op_ == Op::kPush) {
    push(argument_, argument_.is_u32() ? Type::u32 : Type::field);
  } else if (op_ == Op::kPop) {
    for (std::size_t i = 0; i < n; ++i) operand(i);
    stack.resize(stack.size() - n);
  } else if (op_ == Op::kDup) {
    operand(n);
    stack.push_back(state_.at(n));
  } else if (op_ == Op::kSwap) {
    operand(0);
    operand(n);
    std::swap(*cell(0), *cell(n));
  } else if (op_ == Op::kPick) {
    operand(n);
    std::rotate(cell(n), cell(n) + 1, stack.end());
  } else if (op_ == Op::kPlace) {
    operand(0);
    std::rotate(cell(n), cell(0), stack.end());
  } else {
    return op_ == Op::kNop;
  }
  return true;
}

inline void AbstractRun::store_word(Element address, Element value) {
  const std::uint64_t name = mixed(kStoreSeed, {address.value(), value.value(), may_be_at(address)});
  auto& stores = state_.stores_;
  const auto old = std::find_if(stores.begin(), stores.end(), [&](const auto& s) { return s.address == address; });
  if (old != stores.end()) {
    chain(Chain::ram) -= old->name;
    stores.erase(old);
  }
  stores.push_back({address, value, name});
  chain(Chain::ram) += name;
  step_.work[step_.work_count++] = name;
  step_.accesses[step_.access_count++] = {address, true};
}

inline Element AbstractRun::load_word(Element address) {
  const auto& stores = state_.stores_;
  std::uint64_t sum = 0;
  bool known = true;
  Element found;
  auto s = stores.rbegin();
  for (; s != stores.rend() && s->address != address; ++s) known &= surely_distinct(s->address, address);
  known &= s != stores.rend();
  if (s != stores.rend()) found = s->value, sum = s->name;
  const std::uint64_t work = mixed(kLoadSeed, {address.value(), sum + may_be_at(address)});
  step_.work[step_.work_count++] = work;
  step_.accesses[step_.access_count++] = {address, false};
  return known ? found : random_element(work);
}

inline bool AbstractRun::by_words(std::size_t n) {
  const auto word = [&](Chain c, std::initializer_list<std::uint64_t> parts) {
    chain(c) = mixed(mixed(chain(c), {static_cast<std::uint64_t>(c)}), parts);
    step_.work[step_.work_count++] = chain(c);
    return random_element(chain(c));
  };
  if (op_ == Op::kDivine || op_ == Op::kReadIo) {
    const Chain c = op_ == Op::kDivine ? Chain::secret : Chain::input;
    for (std::size_t i = 0; i < n; ++i) push(word(c, {}), Type::field);
  } else if (op_ == Op::kWriteIo) {
    for (std::size_t i = 0; i < n; ++i) word(Chain::output, {in(i).value()});
  } else if (op_ == Op::kWriteMem) {
    for (std::size_t i = 0; i < n; ++i) store_word(in(0) + Element(i), in(i + 1));
    push(in(0) + Element(n), Type::address);
  } else if (op_ == Op::kReadMem) {
    for (std::size_t i = 0; i < n; ++i) push(load_word(in(0) - Element(i)), Type::field);
    push(in(0) - Element(n), Type::address);
  } else {
    return false;
  }
  return true;
}

inline bool AbstractRun::compute_field() {
  if (op_ == Op::kAdd) {
    push(in(0) + in(1), type_of_sum());
  } else if (op_ == Op::kAddI) {
    push(in(0) + argument_, type_of_sum());
  } else if (op_ == Op::kMul) {
    push(in(0) * in(1), Type::field);
  } else if (op_ == Op::kInvert) {
    push(field::inverse(in(0)), Type::field);
  } else if (op_ == Op::kXxAdd) {
    push_extension(extension(0) + extension(3));
  } else if (op_ == Op::kXxMul) {
    push_extension(extension(0) * extension(3));
  } else if (op_ == Op::kXInvert) {
    push_extension(field::inverse(extension(0)));
  } else if (op_ == Op::kXbMul) {
    push_extension(in(0) * extension(1));
  } else {
    return false;
  }
  return true;
}

inline bool AbstractRun::compute_u32() {
  const std::uint64_t a = in(0).value(), b = in(1).value();
  const bool one = in(0).is_u32(), both = one && in(1).is_u32();
  const auto known = [&](bool is, std::uint64_t value, std::size_t i) { return is ? Element(value) : word(i); };
  if (op_ == Op::kEq) {
    push(in(0) == in(1) ? field::kOne : known(both, 0, 0), Type::boolean);
  } else if (op_ == Op::kSplit) {
    push(known(one, 0, 1), Type::u32);
    push(known(one, a, 0), Type::u32);
  } else if (op_ == Op::kLt) {
    push(known(both, a < b ? 1 : 0, 0), Type::boolean);
  } else if (op_ == Op::kAnd) {
    push(known(both, a & b, 0), Type::u32);
  } else if (op_ == Op::kXor) {
    push(known(both, a ^ b, 0), Type::u32);
  } else if (op_ == Op::kLog2Floor) {
    push(known(one && a != 0, static_cast<std::uint64_t>(std::bit_width(a)) - 1, 0), Type::u32);
  } else if (op_ == Op::kPow) {
    push(in(1).is_u32() ? field::power(in(0), b) : word(0), Type::field);
  } else if (op_ == Op::kDivMod) {
    // st0 is the numerator; the remainder ends on top.
    const bool divides = both && b != 0;
    push(known(divides, divides ? a / b : 0, 1), Type::u32);
    push(known(divides, divides ? a % b : 0, 0), Type::u32);
  } else if (op_ == Op::kPopCount) {
    push(known(one, static_cast<std::uint64_t>(std::popcount(a)), 0), Type::u32);
  } else {
    return false;
  }
  return true;
}

inline bool AbstractRun::compute_memory() {
  const Element words(tasm::row(op_).ram.of(0));
  if (op_ == Op::kSpongeAbsorbMem) {
    for (std::size_t i = 5; i-- > 1;) push(word(i), Type::field);
    push(in(0) + words, Type::address);
  } else if (op_ == Op::kMerkleStepMem) {
    push(in(7) + words, Type::address);
    push(in(6), step_.operands[6].type);
    push(word(5), Type::u32);
    push_words(5, Type::digest);
  } else if (op_ == Op::kXxDotStep || op_ == Op::kXbDotStep) {
    for (std::size_t i = 5; i-- > 2;) push(word(i), Type::extension);
    push(in(1) + Element(3), Type::address);
    push(in(0) + Element(op_ == Op::kXxDotStep ? 3 : 1), Type::address);
  } else {
    return false;
  }
  return true;
}

inline void AbstractRun::compute_rest(std::size_t gives) {
  if (op_ == Op::kMerkleStep) {
    push(word(5), Type::u32);
    push_words(5, Type::digest);
  } else if (op_ == Op::kAssertVector) {
    // The operands were equal, or the run has failed: the five lower ones stay.
    for (std::size_t i = 10; i-- > 5;) state_.stack_.push_back(step_.operands[i]);
  } else {
    push_words(gives, op_ == Op::kHash ? Type::digest : Type::field);
  }
}

bool AbstractState::run(const Instruction& instruction, Origin node, Step& step) {
  if (tasm::row(instruction.op).effects & tasm::kControl) return false;
  AbstractRun(*this, instruction, node, step).run();
  lowest_ = std::min(lowest_, height());
  return true;
}

}  // namespace trident::tir::neural
