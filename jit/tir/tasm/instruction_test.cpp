// Oracle: the real Triton VM 2.0.0's table of instructions (its own names, opcodes, sizes, stack changes with an
// argument of 1, use of the u32 table), printed from its source.
#include "jit/tir/tasm/instruction.h"

#include <gtest/gtest.h>

#include <set>

namespace trident::tir::tasm {
namespace {

struct Known {
  const char* text;
  std::uint64_t opcode;
  std::uint32_t words;
  int change;
  bool u32;
};
constexpr Known kKnown[] = {
    {"pop", 3, 2, -1, false},
    {"push", 1, 2, 1, false},
    {"divine", 9, 2, 1, false},
    {"pick", 17, 2, 0, false},
    {"place", 25, 2, 0, false},
    {"dup", 33, 2, 1, false},
    {"swap", 41, 2, 0, false},
    {"halt", 0, 1, 0, false},
    {"nop", 8, 1, 0, false},
    {"skiz", 2, 1, -1, false},
    {"call", 49, 2, 0, false},
    {"return", 16, 1, 0, false},
    {"recurse", 24, 1, 0, false},
    {"recurse_or_return", 32, 1, 0, false},
    {"assert", 10, 1, -1, false},
    {"read_mem", 57, 2, 1, false},
    {"write_mem", 11, 2, -1, false},
    {"hash", 18, 1, -5, false},
    {"assert_vector", 26, 1, -5, false},
    {"sponge_init", 40, 1, 0, false},
    {"sponge_absorb", 34, 1, -10, false},
    {"sponge_absorb_mem", 48, 1, 0, false},
    {"sponge_squeeze", 56, 1, 10, false},
    {"add", 42, 1, -1, false},
    {"addi", 65, 2, 0, false},
    {"mul", 50, 1, -1, false},
    {"invert", 64, 1, 0, false},
    {"eq", 58, 1, -1, false},
    {"split", 4, 1, 1, true},
    {"lt", 6, 1, -1, true},
    {"and", 14, 1, -1, true},
    {"xor", 22, 1, -1, true},
    {"log_2_floor", 12, 1, 0, true},
    {"pow", 30, 1, -1, true},
    {"div_mod", 20, 1, 0, true},
    {"pop_count", 28, 1, 0, true},
    {"xx_add", 66, 1, -3, false},
    {"xx_mul", 74, 1, -3, false},
    {"x_invert", 72, 1, 0, false},
    {"xb_mul", 82, 1, -1, false},
    {"read_io", 73, 2, 1, false},
    {"write_io", 19, 2, -1, false},
    {"merkle_step", 36, 1, 0, true},
    {"merkle_step_mem", 44, 1, 0, true},
    {"xx_dot_step", 80, 1, 0, false},
    {"xb_dot_step", 88, 1, 0, false},
};

TEST(Instructions, AreThoseOfTheMachine) {
  std::set<Op> seen;
  for (const Known& known : kKnown) {
    const auto op = op_named(known.text);
    ASSERT_TRUE(op) << known.text;
    seen.insert(*op);
    EXPECT_EQ(op_of_opcode(known.opcode), op) << known.text;
    EXPECT_EQ(row(*op).opcode, known.opcode) << known.text;
    EXPECT_EQ(row(*op).words(), known.words) << known.text;
    EXPECT_EQ(row(*op).stack_change(1), known.change) << known.text;
    EXPECT_EQ(row(*op).u32_entries != 0, known.u32) << known.text;
  }
  EXPECT_EQ(seen.size(), kOpsPerVm);
}

// Opcodes and stack changes: triton-isa/src/instruction.rs of the machine's main branch at commit 8cd9a0eb, June 2026.
TEST(Instructions, OfTheNextMachineAreThoseAndTwoOthers) {
  for (const Known& known : kKnown) {
    const bool gone = std::string_view(known.text).ends_with("_dot_step");
    EXPECT_EQ(op_named(known.text, Vm::next).has_value(), !gone) << known.text;
  }
  for (const auto& [text, opcode] : {std::pair("b_horner_step", 80u), std::pair("x_horner_step", 88u)}) {
    const auto op = op_named(text, Vm::next);
    ASSERT_TRUE(op) << text;
    EXPECT_FALSE(op_named(text)) << text;
    EXPECT_EQ(op_of_opcode(opcode, Vm::next), op) << text;
    EXPECT_NE(op_of_opcode(opcode), op) << text;
    EXPECT_EQ(released_op(*op), op_of_opcode(opcode)) << text;
    EXPECT_EQ(row(*op).words(), 1u) << text;
    EXPECT_EQ(row(*op).stack_change(0), 0) << text;
  }
  std::size_t found = 0;
  for (std::uint64_t opcode = 0; opcode < 1000; ++opcode) found += op_of_opcode(opcode, Vm::next).has_value() ? 1 : 0;
  EXPECT_EQ(found, kOpsPerVm);
}

TEST(Instructions, NothingElseHasAnOpcode) {
  std::size_t found = 0;
  for (std::uint64_t opcode = 0; opcode < 1000; ++opcode) found += op_of_opcode(opcode).has_value() ? 1 : 0;
  EXPECT_EQ(found, kOpsPerVm);
  EXPECT_FALSE(op_of_opcode(~std::uint64_t{0}));
  EXPECT_FALSE(op_named("or"));
  EXPECT_FALSE(op_named(""));
}

TEST(Instructions, ArgumentsHaveRanges) {
  EXPECT_FALSE(legal_argument(Argument::count, Element(0)));
  EXPECT_TRUE(legal_argument(Argument::count, Element(1)));
  EXPECT_TRUE(legal_argument(Argument::count, Element(5)));
  EXPECT_FALSE(legal_argument(Argument::count, Element(6)));
  EXPECT_TRUE(legal_argument(Argument::index, Element(15)));
  EXPECT_FALSE(legal_argument(Argument::index, Element(16)));
  EXPECT_TRUE(legal_argument(Argument::element, field::kMinusOne));
  EXPECT_FALSE(legal_argument(Argument::none, Element(1)));
}

TEST(Instructions, AmountsFollowTheArgument) {
  EXPECT_EQ((Instruction{Op::kPop, Element(5)}.stack_change()), -5);
  EXPECT_EQ((Instruction{Op::kReadMem, Element(4)}.stack_change()), 4);
  EXPECT_EQ((Instruction{Op::kWriteMem, Element(3)}.stack_change()), -3);
  EXPECT_EQ((Instruction{Op::kDup, Element(15)}.stack_change()), 1);
  EXPECT_EQ((Instruction{Op::kPush, field::kMinusOne}.stack_change()), 1);
  EXPECT_EQ(row(Op::kDup).takes.of(15), 16u);
  EXPECT_EQ(row(Op::kReadMem).ram.of(4), 4u);
}

}  // namespace
}  // namespace trident::tir::tasm
