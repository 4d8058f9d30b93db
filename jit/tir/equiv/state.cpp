#include "jit/tir/equiv/state.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace trident::tir::equiv {
namespace {

using tasm::Op;

constexpr std::uint64_t kCorners[] = {0,
                                      1,
                                      2,
                                      3,
                                      4,
                                      5,
                                      7,
                                      8,
                                      10,
                                      16,
                                      31,
                                      32,
                                      33,
                                      255,
                                      256,
                                      1000,
                                      0x7fff'ffff,
                                      0x8000'0000,
                                      0xffff'fffe,
                                      0xffff'ffff,
                                      0x1'0000'0000,
                                      0x1'0000'0001,
                                      0x8000'0000'0000'0000,
                                      0xffff'fffe'ffff'ffff,
                                      0xffff'ffff'0000'0000,
                                      0xffff'fffe'0000'0001};
constexpr std::size_t kPrefix = field::kTip5Rate + 2;  ///< ten pushes, sponge_init, sponge_absorb
constexpr std::size_t kRamWordsMax = 1u << 16;
/// Returns the cycles within which an equal program of another text ends, given one that took `cycles`: shared
/// subroutines take longer, but not without bound.
constexpr std::uint64_t patience(std::uint64_t cycles) {
  return 8 * cycles + 10'000;
}

Result<void> load(Block block, bool with_sponge, vm::Code& code) {
  tasm::Program program;
  if (with_sponge) {
    program.instructions.assign(field::kTip5Rate, {Op::kPush, Element()});
    program.instructions.push_back({Op::kSpongeInit, {}});
    program.instructions.push_back({Op::kSpongeAbsorb, {}});
  }
  program.instructions.insert(program.instructions.end(), block.begin(), block.end());
  return vm::load(program, code, vm::Hashing::none);
}

bool is_limit(vm::Failure failure) {
  return failure >= vm::Failure::kCycleLimit;
}

/// Compares all addresses that either has; a missing word counts as 0.
bool same_ram(const vm::Machine& a, const vm::Machine& b) {
  const auto x = a.ram(), y = b.ram();
  if (x == y) return true;
  std::size_t i = 0, j = 0;
  while (i < x.size() || j < y.size()) {
    const bool left = j == y.size() || (i < x.size() && x[i].first.value() <= y[j].first.value());
    const bool right = i == x.size() || (j < y.size() && y[j].first.value() <= x[i].first.value());
    if ((left ? x[i].second : Element()) != (right ? y[j].second : Element())) return false;
    i += left ? 1 : 0, j += right ? 1 : 0;
  }
  return true;
}

bool same_sponge(const vm::Machine& a, const vm::Machine& b) {
  if (a.sponge().has_value() != b.sponge().has_value()) return false;
  for (std::size_t i = 0; a.sponge() && i < field::kTip5Width; ++i)
    if (a.sponge()->word(i) != b.sponge()->word(i)) return false;
  return true;
}

}  // namespace

States::States(std::uint64_t seed, Block a, Block b, std::size_t size_min)
    : random_(seed), stack_min_(std::max(size_min, tasm::kRegisters)) {
  const Shape x = shape_of(a), y = shape_of(b);
  straight_ = x.straight && y.straight;  // else shapes end where the program may go on
  reads_ram_ = !straight_ || x.reads_ram || y.reads_ram;
  uses_sponge_ = !straight_ || x.touches_sponge || y.touches_sponge;
  size_min_ = std::max({x.size_min, y.size_min, stack_min_});
  deepest_ = std::max(x.cells, y.cells);
  public_ = std::max(x.public_words, y.public_words);
  secret_ = std::max(x.secret_words, y.secret_words);
  digests_ = std::max(x.digests, y.digests);
  for (const Block block : {a, b})
    for (const Instruction& i : block)
      if (tasm::row(i.op).argument == tasm::Argument::element)
        for (const Element e : {i.argument, -i.argument})
          for (const Element off : {field::kZero, field::kOne, field::kMinusOne}) constants_.push_back(e + off);
}

Element States::element(unsigned kind) {
  switch (kind % kKinds) {
    case 0: return Element(random_.next());
    case 1: return Element(random_.next() >> 32);
    case 2: return Element(random_.below(4));
    case 3: return Element(kCorners[random_.below(std::size(kCorners))]);
    case 4:
      return constants_.empty() ? Element(random_.next() >> (random_.next() & 63))
                                : constants_[random_.below(constants_.size())];
    default: return Element(random_.next() >> (random_.next() & 63));
  }
}

void States::fill_ram(State& state) {
  // Pointers often point at these: near elements of the stack and constants.
  std::vector<Element> addresses;
  for (int i = 0; i < 4; ++i) {
    const Element near = i % 2 == 0 || constants_.empty() ? state.stack[state.stack.size() - 1 - random_.below(8)]
                                                          : constants_[random_.below(constants_.size())];
    for (std::uint64_t k = 0; k < 16; ++k) addresses.push_back(near + Element(k) - Element(5));
  }
  std::sort(addresses.begin(), addresses.end(), [](Element a, Element b) { return a.value() < b.value(); });
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  const auto kind = static_cast<unsigned>(random_.next() % kKinds);
  for (const Element address : addresses)
    if (!random_.one_in(4)) state.ram.emplace_back(address, element(random_.one_in(3) ? count_ : kind));
}

State States::next() {
  const unsigned round = count_++;
  State s;
  const bool shallow = round % 16 == 15;  // just enough words, or one less
  const std::size_t size = shallow ? std::max(stack_min_, size_min_ - random_.below(3))
                                   : size_min_ + std::max<std::size_t>(8, deepest_) + random_.below(4);
  const std::size_t period = round % 8 == 5 ? 5 : round % 8 == 6 ? 1 + random_.below(3) : 0;
  const unsigned kind = round % 8 < kKinds ? round % 8 : static_cast<unsigned>(random_.next() % kKinds);
  const bool mixed = round % 8 == 7 || (round / 8) % 2 == 1;
  for (std::size_t i = 0; i < size; ++i) {
    const bool again = period != 0 && i >= period && !random_.one_in(12);
    s.stack.push_back(again ? s.stack[i - period]
                            : element(mixed ? static_cast<unsigned>(random_.next() % kKinds) : kind));
  }
  const auto filled = [&](std::size_t needed, std::vector<Element>& list) {
    const std::size_t count = random_.one_in(8) ? random_.below(needed + 1) : needed + random_.below(3);
    for (std::size_t i = 0; i < count; ++i)
      list.push_back(element(mixed ? static_cast<unsigned>(random_.next() % kKinds) : kind));
  };
  filled(public_, s.public_input);
  filled(secret_, s.secret_input);
  std::vector<Element> words;
  filled(digests_, words);
  for (const Element word : words) {
    field::Digest digest;
    for (Element& e : digest) e = random_.one_in(4) ? word : element(0);
    s.secret_digests.push_back(digest);
  }
  if (reads_ram_ && !random_.one_in(4)) fill_ram(s);
  if (uses_sponge_ && !random_.one_in(3)) {
    s.absorbed.emplace();
    for (Element& e : *s.absorbed) e = element(kind);
  }
  return s;
}

Pair::Pair(Block a, Block b, std::uint64_t cycles, Limit limit) : cycles_(cycles), limit_(limit) {
  for (const unsigned i : {0u, 1u}) {
    const Block block = i == 0 ? a : b;
    relocatable_ &= std::none_of(block.begin(), block.end(), [](const Instruction& x) { return x.op == Op::kCall; });
    runnable_ &= load(block, false, plain_[i]).ok() && (!relocatable_ || load(block, true, with_sponge_[i]).ok());
  }
}

void Pair::run(unsigned which, const State& state, std::uint64_t cycles) {
  const bool prefixed = state.absorbed && relocatable_;
  vm::Code& code = prefixed ? with_sponge_[which] : plain_[which];
  for (std::size_t i = 0; prefixed && i < field::kTip5Rate; ++i)
    code.steps[i].argument = (*state.absorbed)[field::kTip5Rate - 1 - i];
  vm::Inputs inputs{state.public_input, state.secret_input, state.secret_digests, state.ram, state.stack};
  vm::Budget budget;
  budget.cycles = cycles;
  budget.ram_words = kRamWordsMax;
  vm::Machine& machine = machines_[which];
  const vm::Failure failure = machine.run(code, inputs, budget);
  failed_[which] = failure != vm::Failure::none &&
                   (failure != vm::Failure::kInstructionPointerOverflow || machine.step() != code.steps.size());
}

std::string Pair::endless(const State& state) {
  const unsigned late = is_limit(machines_[0].failure()) ? 0 : 1;
  const vm::Machine &ended = machines_[1 - late], &other = machines_[late];
  const std::uint64_t waited = patience(ended.cycles());
  const bool stopped = other.failure() == vm::Failure::kCycleLimit && other.cycles() < waited;
  if (stopped && limit_ == Limit::raised) run(late, state, waited);
  if (!is_limit(other.failure()) || other.cycles() < waited) return "";
  const char *const first = late == 0 ? "second" : "first", *const second = late == 0 ? "first" : "second";
  return std::string("only the ") + first + " ends, after " + std::to_string(ended.cycles()) + " cycles: the " +
         second + " has not ended after " + std::to_string(other.cycles());
}

std::string Pair::difference(const State& state) {
  CHECK(runnable_);
  run(0, state, cycles_);
  run(1, state, cycles_);
  const vm::Machine &a = machines_[0], &b = machines_[1];
  undecided_ = false;
  if (is_limit(a.failure()) != is_limit(b.failure()))
    if (std::string found = endless(state); !found.empty()) return found;
  undecided_ = is_limit(a.failure()) || is_limit(b.failure());
  if (undecided_) return "";
  if (failed_[0] != failed_[1]) {
    const vm::Machine& bad = failed_[0] ? a : b;
    return std::string("only the ") + (failed_[0] ? "first" : "second") + " fails: " + bad.failure_text();
  }
  if (failed_[0]) return "";
  if ((a.failure() == vm::Failure::none) != (b.failure() == vm::Failure::none)) return "only one ends the program";
  if (a.stack().size() != b.stack().size()) return "the stacks have different heights";
  for (std::size_t i = 0; i < a.stack().size(); ++i)
    if (const std::size_t top = a.stack().size() - 1 - i; a.stack()[top] != b.stack()[top])
      return "st" + std::to_string(i) + " is " + std::to_string(a.stack()[top].value()) + " and " +
             std::to_string(b.stack()[top].value());
  if (a.output() != b.output()) return "the outputs differ";
  if (a.inputs_taken() != b.inputs_taken()) return "they read different numbers of words";
  if (!same_ram(a, b)) return "the words in RAM differ";
  if (!same_sponge(a, b)) return "the sponges differ";
  return "";
}

}  // namespace trident::tir::equiv
