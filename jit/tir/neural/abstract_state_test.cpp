// Oracle: Triton VM itself, started on the elements that represent the slots.
#include "jit/tir/neural/abstract_state.h"

#include <gtest/gtest.h>

#include <map>

#include "jit/tir/tasm/program.h"
#include "jit/tir/vm/machine.h"
#include "runtime/tensor/generator.h"

namespace trident::tir::neural {
namespace {

using tasm::Op;

AbstractState state_after(const std::string& text) {
  const auto program = tasm::assemble(ir::SourceText(text));
  CHECK(program.ok());
  AbstractState state;
  Step step;
  for (std::size_t k = 0; k < program->instructions.size(); ++k)
    EXPECT_TRUE(state.run(program->instructions[k], static_cast<Origin>(k), step)) << text;
  return state;
}
bool same(const std::string& a, const std::string& b) {
  return state_after(a).same(state_after(b));
}

constexpr std::size_t kStack = 64;

/// Makes blocks of instructions that are computed for any operands, or for u32 ones.
std::vector<Instruction> random_block(tensor::Generator& random) {
  constexpr Op kOps[] = {Op::kPush, Op::kPop, Op::kPick,  Op::kPlace,  Op::kDup,      Op::kSwap,  Op::kNop, Op::kAdd,
                         Op::kAddI, Op::kMul, Op::kEq,    Op::kXxAdd,  Op::kXxMul,    Op::kXbMul, Op::kAnd, Op::kXor,
                         Op::kLt,   Op::kPow, Op::kSplit, Op::kDivMod, Op::kPopCount, Op::kInvert};
  std::vector<Instruction> block;
  for (std::size_t i = 0; i < 24; ++i) {
    const Op op = kOps[random.below(std::size(kOps))];
    const tasm::InstructionRow& row = tasm::row(op);
    const bool u32 = row.u32_entries > 0 || op == Op::kEq;
    // Pushes constants before instructions on u32: the state knows no other u32.
    for (int n = 0; n < 2 && u32; ++n) block.push_back({Op::kPush, Element(1 + random.below(9))});
    std::uint64_t argument = 0;
    if (row.argument == tasm::Argument::count) argument = 1 + random.below(2);
    if (row.argument == tasm::Argument::index) argument = random.below(16);
    if (row.argument == tasm::Argument::element) argument = random.below(100);
    block.push_back({op, Element(argument)});
  }
  return block;
}

TEST(AbstractState, ComputesWhatTheMachineDoes) {
  tensor::Generator random(11);
  vm::Machine machine;
  int compared = 0;
  for (int turn = 0; turn < 3000; ++turn) {
    std::vector<Element> start(kStack);
    for (std::size_t s = 0; s < kStack; ++s) start[kStack - 1 - s] = slot_value(s);
    tasm::Program program;
    program.instructions = random_block(random);
    AbstractState state;
    Step step;
    for (const Instruction& i : program.instructions) ASSERT_TRUE(state.run(i, 0, step));
    program.instructions.push_back({Op::kHalt, {}});
    vm::Code code;
    ASSERT_TRUE(vm::load(program, code, vm::Hashing::none).ok());
    if (machine.run(code, {.public_input = {}, .secret_input = {}, .secret_digests = {}, .ram = {}, .stack = start}) !=
        vm::Failure::none)
      continue;
    ++compared;
    const auto stack = machine.stack();
    ASSERT_EQ(static_cast<int>(stack.size()), static_cast<int>(kStack) + state.height());
    for (std::size_t d = 0; d < stack.size(); ++d)
      ASSERT_EQ(state.at(d).value, stack[stack.size() - 1 - d]) << tasm::print(program) << d;
  }
  EXPECT_GT(compared, 1500);
}

TEST(AbstractState, EqualPolynomialsAreTheSame) {
  EXPECT_TRUE(same("", "push 1 pop 1"));
  EXPECT_TRUE(same("swap 1 add", "add"));
  EXPECT_TRUE(same("dup 0 add", "push 2 mul"));
  EXPECT_TRUE(same("push -1 mul add push -1 mul", "swap 1 push -1 mul add"));
  EXPECT_TRUE(same("push 5 add", "addi 5"));
  EXPECT_TRUE(same("pop 1 pop 1", "pop 2"));
  EXPECT_TRUE(same("push 255 pop_count", "push 8"));
  EXPECT_TRUE(same("swap 1 and", "and"));
  EXPECT_FALSE(same("add", "mul"));
  EXPECT_FALSE(same("swap 1 lt", "lt"));
  EXPECT_FALSE(same("dup 0", "dup 1"));
  EXPECT_FALSE(same("pop 1", ""));
}

TEST(AbstractState, EffectsKeepTheirOrder) {
  EXPECT_TRUE(same("read_io 1 read_io 1", "read_io 2"));
  EXPECT_TRUE(same("divine 1 divine 2", "divine 3"));
  EXPECT_TRUE(same("write_io 2", "write_io 1 write_io 1"));
  EXPECT_FALSE(same("write_io 2", "swap 1 write_io 2"));
  EXPECT_FALSE(same("read_io 1 divine 1", "divine 1 read_io 1"));
  EXPECT_TRUE(same("read_io 1 divine 1", "divine 1 read_io 1 swap 1"));
  EXPECT_TRUE(same("read_mem 2", "read_mem 1 read_mem 1"));
  EXPECT_TRUE(same("write_mem 2", "write_mem 1 write_mem 1"));
  EXPECT_FALSE(same("dup 0 read_mem 1 pop 1 place 1 push 7 swap 1 write_mem 1",
                    "push 7 dup 1 write_mem 1 pop 1 read_mem 1 addi 1"));
  EXPECT_FALSE(same("sponge_init sponge_squeeze", "sponge_squeeze sponge_init"));
}

TEST(AbstractState, WordsThatWereStoredAreKnown) {
  EXPECT_TRUE(
      same("push 7 push 1 write_mem 1 pop 1 push 1 read_mem 1 pop 1", "push 7 push 1 write_mem 1 pop 1 push 7"));
  EXPECT_TRUE(same("push 5 push 1 write_mem 1 push 6 push 1 write_mem 1 pop 2", "push 6 push 1 write_mem 1 pop 1"));
  EXPECT_TRUE(same("push 5 push 1 write_mem 1 push 6 push 3 write_mem 1 pop 2",
                   "push 6 push 3 write_mem 1 push 5 push 1 write_mem 1 pop 2"));
  // Addresses that may be equal keep their order.
  EXPECT_FALSE(same("push 5 dup 1 write_mem 1 push 6 dup 3 write_mem 1 pop 2",
                    "push 6 dup 2 write_mem 1 push 5 dup 2 write_mem 1 pop 2"));
}

/// Blocks of up to four of these that the state calls the same must all end the same on the machine, also where two
/// addresses happen to be equal.
TEST(AbstractState, BlocksThatAreTheSameDoTheSameToRam) {
  const char* const kAlphabet[] = {"push 1", "push 2", "read_mem 1", "write_mem 1",
                                   "pop 1",  "dup 0",  "swap 1",     "addi 1"};
  std::vector<std::vector<Instruction>> blocks(1);
  for (std::size_t from = 0, round = 0; round < 4; ++round) {
    const std::size_t to = blocks.size();
    for (; from < to; ++from)
      for (const char* text : kAlphabet) {
        blocks.push_back(blocks[from]);
        blocks.back().push_back(tasm::assemble(ir::SourceText(text))->instructions[0]);
      }
  }
  const std::vector<std::vector<std::uint64_t>> tops = {{11, 12, 13}, {1, 1, 2}, {2, 1, 1}, {5, 5, 5}, {0, 2, 1}};
  const std::vector<std::pair<Element, Element>> ram = {
      {Element(0), Element(2)}, {Element(1), Element(31)}, {Element(2), Element(32)}, {Element(5), Element(1)}};
  std::map<std::uint64_t, std::vector<std::string>> ends;
  std::size_t shared = 0;
  vm::Machine machine;
  for (const auto& block : blocks) {
    AbstractState state;
    Step step;
    tasm::Program program;
    for (const Instruction& i : block) ASSERT_TRUE(state.run(i, 0, step));
    program.instructions = block;
    program.instructions.push_back({Op::kHalt, {}});
    vm::Code code;
    ASSERT_TRUE(vm::load(program, code, vm::Hashing::none).ok());
    std::vector<std::string> end;
    for (const auto& top : tops) {
      std::vector<Element> start(17, Element(77));
      for (const std::uint64_t cell : top) start.emplace_back(cell);
      std::string text(vm::name_of(machine.run(
          code, {.public_input = {}, .secret_input = {}, .secret_digests = {}, .ram = ram, .stack = start})));
      if (text.empty()) {
        for (const Element e : machine.stack()) text += std::to_string(e.value()) + " ";
        for (const auto& [address, word] : machine.ram())
          if (!word.is_zero()) text += std::to_string(address.value()) + "=" + std::to_string(word.value()) + " ";
      }
      end.push_back(text);
    }
    const auto [known, is_new] = ends.try_emplace(state.fingerprint(), end);
    shared += is_new ? 0 : 1;
    ASSERT_EQ(known->second, end) << tasm::print(program);
  }
  EXPECT_GT(shared, blocks.size() / 4);
}

TEST(AbstractState, WhatCanFailStays) {
  EXPECT_FALSE(same("dup 0 invert pop 1", ""));
  EXPECT_FALSE(same("assert", "pop 1"));
  EXPECT_FALSE(same("dup 1 dup 1 lt pop 1", ""));
  EXPECT_TRUE(same("dup 0 invert pop 1 dup 0 invert pop 1", "dup 0 invert pop 1"));
}

TEST(AbstractState, RefusesControlFlow) {
  AbstractState state;
  Step step;
  for (const Op op : {Op::kHalt, Op::kSkiz, Op::kCall, Op::kReturn, Op::kRecurse, Op::kRecurseOrReturn})
    EXPECT_FALSE(state.run({op, {}}, 0, step));
}

TEST(AbstractState, DeeperBlocksFailElsewhere) {
  EXPECT_FALSE(same("pop 1 push 5 push 6", "push 6 swap 1 push 5 swap 1 place 1 swap 2 pop 1 swap 1"));
  EXPECT_FALSE(same("swap 1 pop 1 dup 0 pop 1 push 3", "pop 1 push 3"));
  EXPECT_FALSE(same("pop 1 push 7 pop 1 push 8", "push 8 swap 1 pop 1"));
  EXPECT_TRUE(same("pop 1 push 7", "push 7 swap 1 pop 1 pop 1 push 7"));
  EXPECT_EQ(state_after("hash add push 1").lowest(), -6);
}

TEST(AbstractState, FingerprintsAreThoseOfTheSameStates) {
  const char* const blocks[] = {
      "",          "nop",    "swap 1 swap 1",      "dup 3 pop 1",    "add",       "swap 1 add",
      "mul",       "push 1", "dup 0 swap 1",       "dup 0",          "read_io 1", "push 2 push 3 add",
      "push 5",    "pop 1",  "dup 0 invert pop 1", "pick 3 place 3", "pick 3",    "pop 1 push 0",
      "write_io 1"};
  for (const char* a : blocks)
    for (const char* b : blocks)
      EXPECT_EQ(state_after(a).fingerprint() == state_after(b).fingerprint(), same(a, b)) << a << " | " << b;
}

TEST(AbstractState, KnowsHowDeepABlockReaches) {
  EXPECT_EQ(state_after("add").dug(), 2u);
  EXPECT_EQ(state_after("dup 15").dug(), 16u);
  EXPECT_EQ(state_after("pop 5 pop 5 push 1 push 2 add").dug(), 10u);
  EXPECT_EQ(state_after("pop 5 pop 5 push 1 push 2 add").height(), -9);
}

}  // namespace
}  // namespace trident::tir::neural
