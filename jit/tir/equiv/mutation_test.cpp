// No mutant is called equal that the machine can tell from its origin. Oracle: the machine (vm/machine.h), run here
// without the module's own comparison, in states with other seeds.
//
// TRIDENT_TIR_MUTANTS sets their number; make campaign NAME=fuzz-tir-equiv runs a million.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "jit/tir/equiv/equiv.h"
#include "jit/tir/equiv/random_block.h"

namespace trident::tir::equiv {
namespace {

/// Returns all that a run leaves as one list of numbers; empty if it fails.
std::vector<std::uint64_t> left_by(vm::Machine& machine, const vm::Code& code, const State& state) {
  const vm::Failure failure =
      machine.run(code, {state.public_input, state.secret_input, state.secret_digests, state.ram, state.stack});
  if (failure != vm::Failure::kInstructionPointerOverflow) return {};
  std::vector<std::uint64_t> out;
  const auto list = [&](const auto& elements) {
    out.push_back(elements.size());
    for (const Element e : elements) out.push_back(e.value());
  };
  list(machine.stack());
  list(machine.output());
  for (const std::size_t taken : machine.inputs_taken()) out.push_back(taken);
  std::map<std::uint64_t, std::uint64_t> ram;
  for (const auto& [address, word] : machine.ram())
    if (!word.is_zero()) ram[address.value()] = word.value();
  for (const auto& [address, word] : ram) out.push_back(address), out.push_back(word);
  for (std::size_t i = 0; machine.sponge() && i < field::kTip5Width; ++i)
    out.push_back(machine.sponge()->word(i).value());
  return out;
}

vm::Code code_of(Block block, bool with_sponge) {
  tasm::Program program;
  if (with_sponge) {  // absorbs words of the stack, which are put back
    for (int i = 0; i < 10; ++i) program.instructions.push_back({tasm::Op::kDup, Element(9)});
    program.instructions.push_back({tasm::Op::kSpongeInit, {}});
    program.instructions.push_back({tasm::Op::kSpongeAbsorb, {}});
  }
  program.instructions.insert(program.instructions.end(), block.begin(), block.end());
  vm::Code code;
  EXPECT_TRUE(vm::load(program, code, vm::Hashing::none).ok());
  return code;
}

constexpr std::uint64_t kCorners[] = {0, 1, 2, 3, 255, 0xffff'ffff, 0x1'0000'0000, 0xffff'ffff'0000'0000};
constexpr std::size_t kShort = 12;

struct Judge {
  vm::Machine a, b;
  std::uint64_t ended = 0;

  bool tells_apart(Block x, Block y, std::uint64_t seed, unsigned count) {
    const vm::Code codes[2][2] = {{code_of(x, false), code_of(x, true)}, {code_of(y, false), code_of(y, true)}};
    States states(seed, x, y, 16);
    bool any_ended = false;
    for (unsigned i = 0; i < count; ++i) {
      const State state = states.next();
      const unsigned kind = state.absorbed ? 1 : 0;
      const auto left = left_by(a, codes[0][kind], state);
      if (left != left_by(b, codes[1][kind], state)) return true;
      any_ended |= !left.empty();
    }
    ended += any_ended ? 1 : 0;
    // All combinations of corner values for the three topmost elements: a rule that forgets a case shows it here.
    if (std::max(x.size(), y.size()) > kShort) return false;
    State state = states.next();
    state.absorbed.reset();
    state.stack.resize(40, Element(2));
    for (const std::uint64_t p : kCorners)
      for (const std::uint64_t q : kCorners)
        for (const std::uint64_t r : kCorners) {
          state.stack[39] = Element(p), state.stack[38] = Element(q), state.stack[37] = Element(r);
          if (left_by(a, codes[0][0], state) != left_by(b, codes[1][0], state)) return true;
        }
    return false;
  }
};

TEST(Mutation, NothingElseIsCalledEqual) {
  const char* const wanted = std::getenv("TRIDENT_TIR_MUTANTS");
  const std::uint64_t count = wanted == nullptr ? 20'000 : std::strtoull(wanted, nullptr, 10);
  Random random(20260101);
  Judge judge;
  std::uint64_t answers[2][3] = {}, wrong = 0, checked = 0;
  double bound = 0;
  std::vector<Instruction> origin;
  std::unique_ptr<Decider> decider;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % 8 == 0) origin = random_block(random, 20);
    const Change change = i % 2 == 0 ? Change::sound : Change::careless;
    const auto mutant = changed(random, origin, change);
    Options options;
    options.seed = i;
    if (!decider || i % 8 == 0) decider = std::make_unique<Decider>(origin, options);
    const Decision decision = decider->decide(mutant);
    ++answers[i % 2][static_cast<int>(decision.answer)];
    // The normal forms must be right without the states run before and after them.
    if (decision.answer == Answer::differs && prove(origin, mutant, options).equal) {
      ++wrong;
      ADD_FAILURE() << text(origin) << "  is proved to be  " << text(mutant);
    }
    if (decision.answer == Answer::differs && Pair(origin, mutant).difference(decision.witness).empty()) ++wrong;

    if (decision.answer != Answer::equal) continue;
    bound += decision.error_bound;
    ++checked;
    if (!judge.tells_apart(origin, mutant, ~i, 96)) continue;
    ++wrong;
    ADD_FAILURE() << text(origin) << "  is not  " << text(mutant);
  }
  EXPECT_EQ(wrong, 0u);
  for (const int kind : {0, 1})
    std::printf("%s: %llu equal, %llu differ, %llu unknown\n", kind == 0 ? "rewritten soundly" : "changed carelessly",
                static_cast<unsigned long long>(answers[kind][0]), static_cast<unsigned long long>(answers[kind][1]),
                static_cast<unsigned long long>(answers[kind][2]));
  std::printf("%llu of %llu equal ones ended in some state; sum of error bounds %.2g\n",
              static_cast<unsigned long long>(judge.ended), static_cast<unsigned long long>(checked), bound);
  // A campaign that never says "equal" shows nothing.
  EXPECT_GT(answers[0][0], count / 4);
  EXPECT_GT(judge.ended, checked / 2);
  EXPECT_LT(answers[0][2] + answers[1][2], count / 10);
}

/// Makes a few instructions on two u32: masks, shifts, and operations that combine them.
std::vector<Instruction> random_bits(Random& random) {
  constexpr std::uint64_t kMasks[] = {1,      2,           3,           6,           7,           8,
                                      12,     15,          240,         255,         0xff00,      0xfff0,
                                      0x0f0f, 0x5555'5555, 0xffff'fff0, 0xffff'fffe, 0x8000'0000, 0xffff'ffff};
  std::string text;
  const auto mask = [&] { return "push " + std::to_string(kMasks[random.below(std::size(kMasks))]) + " "; };
  const auto shift = [&] {
    return "push " + std::to_string(std::uint64_t{1} << (random.one_in(4) ? random.below(32) : random.below(5))) + " ";
  };
  for (std::uint64_t i = 1 + random.below(4); i > 0; --i) switch (random.below(12)) {
      case 0:
      case 1: text += mask() + "and "; break;
      case 2:
      case 3: text += shift() + "swap 1 div_mod pop 1 "; break;
      case 4: text += shift() + "swap 1 div_mod swap 1 pop 1 "; break;
      case 5: text += shift() + "mul "; break;
      case 6: text += mask() + "xor "; break;
      case 7: text += "dup 1 xor "; break;
      case 8: text += "dup 1 and "; break;
      case 9: text += "dup 0 " + mask() + "and push -1 mul add "; break;
      case 10: text += "dup 1 dup 1 lt dup 1 dup 3 lt mul add "; break;
      default: text += "swap 1 "; break;
    }
  return tasm::assemble(ir::SourceText(text))->instructions;
}

TEST(Mutation, MasksAndShifts) {
  const char* const wanted = std::getenv("TRIDENT_TIR_MUTANTS");
  const std::uint64_t count = wanted == nullptr ? 20'000 : std::strtoull(wanted, nullptr, 10);
  constexpr std::size_t kBlocks = 400;
  constexpr std::uint64_t kWords[] = {0, 1, 2, 5, 0x8000'0000, 0xffff'ffff, 0x1'0000'0000, 0xffff'ffff'0000'0000};
  Random random(20260202);
  vm::Machine machine;
  std::vector<State> states;
  for (int i = 0; i < 160; ++i) {
    State state;
    state.stack.resize(40, Element(2));
    for (Element& e : state.stack)
      e = Element(i < 64 ? kWords[(&e - state.stack.data() == 39 ? i : i / 8) % 8] : random.next() >> 32);
    states.push_back(std::move(state));
  }
  std::uint64_t equal = 0, alike = 0, pairs = 0;
  while (pairs < count) {
    // Groups blocks by their results in all of the states.
    std::map<std::vector<std::uint64_t>, std::vector<std::vector<Instruction>>> groups;
    std::vector<std::pair<std::vector<Instruction>, const std::vector<std::uint64_t>*>> all;
    for (std::size_t i = 0; i < kBlocks; ++i) {
      auto block = random_bits(random);
      const vm::Code code = code_of(block, false);
      std::vector<std::uint64_t> left;
      for (const State& state : states) {
        const auto one = left_by(machine, code, state);
        left.push_back(one.size());
        left.insert(left.end(), one.begin(), one.end());
      }
      const auto at = groups.try_emplace(std::move(left)).first;
      at->second.push_back(block);
      all.emplace_back(std::move(block), &at->first);
    }
    const auto compare = [&](const auto& x, const auto& y, bool same) {
      Options options;
      options.stack_min = 20;
      options.seed = ++pairs;
      const bool proved = prove(x, y, options).equal;
      EXPECT_FALSE(proved && !same) << text(x) << "  is proved to be  " << text(y);
      if (same) ++alike, equal += proved ? 1 : 0;
    };
    for (const auto& [left, blocks] : groups)
      for (std::size_t i = 1; i < blocks.size(); ++i)
        if (blocks[i] != blocks[0]) compare(blocks[0], blocks[i], true);
    for (std::size_t i = 0; i < 2 * kBlocks; ++i) {
      const auto &x = all[random.below(kBlocks)], &y = all[random.below(kBlocks)];
      if (x.second != y.second) compare(x.first, y.first, false);
    }
  }
  std::printf("masks and shifts: %llu of %llu pairs that end alike are proved equal, of %llu pairs\n",
              static_cast<unsigned long long>(equal), static_cast<unsigned long long>(alike),
              static_cast<unsigned long long>(pairs));
  EXPECT_GT(equal, alike * 3 / 4);
}

}  // namespace
}  // namespace trident::tir::equiv
