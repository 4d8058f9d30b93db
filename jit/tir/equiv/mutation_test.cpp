// No mutated block is called equal that the machine can tell from its origin. Oracle: the machine (vm/machine.h), asked
// here without what the module itself has for that, in states with other seeds.
//
// TRIDENT_TIR_MUTANTS says how many; make fuzz-tir-equiv runs a million.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "jit/tir/equiv/equiv.h"
#include "jit/tir/equiv/random_block.h"

namespace trident::tir::equiv {
namespace {

std::string text(Block block) {
  std::string out;
  for (const Instruction& i : block) out += (out.empty() ? "" : " ") + tasm::print(i);
  return out;
}

/// All that a run leaves, as one list of numbers; empty if it fails.
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
  if (with_sponge) {  // of what is on the stack, which is put back
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
    // The three topmost elements through all corners: where a rule forgets one case, it is likely among these.
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
    // The normal forms must be right without the states that stand before and behind them.
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

}  // namespace
}  // namespace trident::tir::equiv
