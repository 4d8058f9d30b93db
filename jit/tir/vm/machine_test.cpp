// Oracle: programs worked out by hand from the machine's manual, for cases that the real machine's answers
// (jit/tir/oracle) do not cover: the rarer failures, our limits, blocks, several runs of one machine.
#include "jit/tir/vm/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace trident::tir::vm {
namespace {

Code code_of(const std::string& text, Hashing hashing = Hashing::whole_program) {
  const auto program = tasm::assemble(ir::SourceText(text));
  EXPECT_TRUE(program) << text;
  Code code;
  EXPECT_TRUE(load(*program, code, hashing));
  return code;
}
std::vector<std::uint64_t> values(std::span<const Element> list) {
  std::vector<std::uint64_t> out;
  for (const Element e : list) out.push_back(e.value());
  return out;
}
using Values = std::vector<std::uint64_t>;

struct Executed {
  Code code;
  Machine machine;
  Failure failure;
  explicit Executed(const std::string& text, const Inputs& inputs = {}, const Budget& budget = {})
      : code(code_of(text)), failure(machine.run(code, inputs, budget)) {}
  /// Returns an element counted from the top.
  [[nodiscard]] std::uint64_t st(std::size_t i) const {
    return machine.stack()[machine.stack().size() - 1 - i].value();
  }
};

TEST(Machine, EveryFailureHasItsWord) {
  const std::pair<const char*, const char*> programs[] = {
      {"nop", "InstructionPointerOverflow"},
      {"", "InstructionPointerOverflow"},
      {"call e e:", "InstructionPointerOverflow"},
      {"push 0 skiz", "InstructionPointerOverflow"},
      {"push 1 skiz", "InstructionPointerOverflow"},
      {"pop 1 halt", "OpStackError(TooShallow)"},
      {"push 1 pop 2 halt", "OpStackError(TooShallow)"},
      {"hash halt", "OpStackError(TooShallow)"},
      {"push 0 sponge_absorb halt", "OpStackError(TooShallow)"},  // fails before the sponge is used
      {"push -1 log_2_floor halt", "OpStackError(FailedU32Conversion)"},
      {"push -1 push 0 div_mod halt", "OpStackError(FailedU32Conversion)"},
      {"push 0 push -1 div_mod halt", "OpStackError(FailedU32Conversion)"},
      {"push -1 push 0 push 0 push 0 push 0 push 0 merkle_step_mem halt", "OpStackError(FailedU32Conversion)"},
      {"return", "JumpStackIsEmpty"},
      {"recurse", "JumpStackIsEmpty"},
      {"recurse_or_return", "JumpStackIsEmpty"},
      {"push 0 assert halt", "AssertionFailed"},
      {"push 2 assert halt", "AssertionFailed"},
      {"push 1 assert_vector halt", "OpStackError(TooShallow)"},
      {"push 0 invert halt", "InverseOfZero"},
      {"push 3 push 0 swap 1 div_mod halt", "DivisionByZero"},
      {"push 0 log_2_floor halt", "LogarithmOfZero"},
      {"sponge_squeeze halt", "SpongeNotInitialized"},
      {"read_io 1 halt", "EmptyPublicInput"},
      {"divine 5 halt", "EmptySecretInput"},
      {"push 2 push 0 push 0 push 0 push 0 push 0 merkle_step halt", "EmptySecretDigestInput"},
      {"halt", ""},
  };
  for (const auto& [text, failure] : programs) EXPECT_EQ(name_of(Executed(text).failure), failure) << text;
}

TEST(Machine, FailuresTellTheirValues) {
  EXPECT_EQ(Executed("push 7 assert halt").machine.failure_text(),
            "AssertionFailed: the top of the stack is not 1: it is 7");
  EXPECT_EQ(Executed("push -1 push 3 lt halt").machine.failure_text(),
            "OpStackError(FailedU32Conversion): an operand is not below 2^32: st1 is 18446744069414584320");
  const Executed vector("push 5 push 4 push 3 push 2 push 1 push 5 push 4 push 9 push 2 push 1 assert_vector halt");
  EXPECT_EQ(vector.machine.failure_text(),
            "VectorAssertionFailed: two vectors of five elements differ: st2 is 9, st7 is 3");
  EXPECT_EQ(vector.machine.address(), 20u);
  EXPECT_EQ(vector.machine.cycles(), 10u);
}

TEST(Machine, WhatIsPoppedBeforeAFailureIsPopped) {
  const Executed skipped("push 0 skiz");
  EXPECT_EQ(skipped.machine.stack().size(), 16u);
  EXPECT_EQ(skipped.machine.cycles(), 1u);
  const Executed divided("push 0 push 5 div_mod halt");
  EXPECT_EQ(divided.st(0), 5u);
  EXPECT_EQ(divided.machine.stack().size(), 18u);
}

TEST(Machine, Arithmetic) {
  EXPECT_EQ(Executed("push 3 push 5 lt halt").st(0), 0u);  // st0 < st1: 5 < 3
  EXPECT_EQ(Executed("push 5 push 3 lt halt").st(0), 1u);
  const Executed divided("push 5 push 17 div_mod halt");
  EXPECT_EQ(divided.st(0), 2u);
  EXPECT_EQ(divided.st(1), 3u);
  EXPECT_EQ(Executed("push 0 push 0 pow halt").st(0), 1u);
  EXPECT_EQ(Executed("push 10 push 2 pow halt").st(0), 1024u);
  EXPECT_EQ(Executed("push 4294967295 log_2_floor halt").st(0), 31u);
  const Executed parts("push -1 split halt");
  EXPECT_EQ(parts.st(0), 0u);
  EXPECT_EQ(parts.st(1), 4294967295u);
  const Executed memory("push 7 push 8 push 100 write_mem 2 pop 1 push 101 read_mem 2 halt");
  EXPECT_EQ(memory.st(0), 99u);
  EXPECT_EQ(memory.st(1), 8u);  // ram[100] was below the pointer
  EXPECT_EQ(memory.st(2), 7u);
  const Executed wrapped("push 9 push -1 write_mem 1 halt");
  EXPECT_EQ(wrapped.st(0), 0u);
  EXPECT_EQ(wrapped.machine.ram(), (std::vector<std::pair<Element, Element>>{{field::kMinusOne, Element(9)}}));
  const Executed moved("push 1 push 2 push 3 pick 2 halt");
  EXPECT_EQ((Values{moved.st(0), moved.st(1), moved.st(2)}), (Values{1, 3, 2}));
  const Executed placed("push 1 push 2 push 3 place 2 halt");
  EXPECT_EQ((Values{placed.st(0), placed.st(1), placed.st(2)}), (Values{2, 1, 3}));
}

TEST(Machine, HeightsCountWhatHappened) {
  // 12 & 10 twice is one entry of 1 + 4 rows, 10 & 12 another; xor shares the entries of and.
  const Executed run("push 10 push 12 and push 10 push 12 xor push 12 push 10 and pop 3 halt");
  const Heights heights = run.machine.heights();
  EXPECT_EQ(run.machine.u32_entries(), 2u);
  EXPECT_EQ(heights.of(Table::u32), 10u);
  EXPECT_EQ(heights.of(Table::processor), 11u);
  EXPECT_EQ(heights.of(Table::jump_stack), 11u);
  EXPECT_EQ(heights.of(Table::op_stack), 6u + 3 + 3);
  EXPECT_EQ(heights.of(Table::program), 20u);  // 18 words and one of padding
  EXPECT_EQ(heights.of(Table::hash), 12u);
  EXPECT_EQ(heights.of(Table::lookup), 256u);
  EXPECT_EQ(heights.tallest(), Table::lookup);
  EXPECT_EQ(heights.padded(), 256u);
  EXPECT_EQ(values(run.machine.output()), Values{});
  std::uint64_t executed = 0;
  for (const std::uint64_t n : run.machine.executions()) executed += n;
  EXPECT_EQ(executed, 11u);
}

TEST(Machine, BlocksRunOnStacksOfTheirOwn) {
  const Code code = code_of("add mul", Hashing::none);
  std::vector<Element> stack(16);
  for (const std::uint64_t v : {5, 3, 4}) stack.push_back(Element(v));
  Machine machine;
  EXPECT_EQ(machine.run(code, {{}, {}, {}, {}, stack}), Failure::kInstructionPointerOverflow);  // a block has no halt
  EXPECT_EQ(machine.step(), 2u);
  EXPECT_EQ(machine.stack().back().value(), 35u);
  EXPECT_EQ(machine.heights().of(Table::program), 0u);
  EXPECT_EQ(machine.heights().of(Table::hash), 0u);
  EXPECT_EQ(machine.heights().of(Table::cascade), 0u);
}

TEST(Machine, LimitsEndARun) {
  const std::pair<const char*, const char*> programs[] = {
      {"call f f: recurse", "CycleLimit"},
      {"call f f: push 1 recurse", "StackLimit"},
      {"call f f: call f", "JumpStackLimit"},
      {"push 0 call f f: push 7 swap 1 write_mem 1 recurse", "RamLimit"},
      {"push 0 call f f: addi 1 dup 0 pop_count pop 1 recurse", "U32Limit"},
      {"call f f: push 1 write_io 1 recurse", "OutputLimit"},
  };
  const Budget budget{1'000'000, 5000, 5000, 5000, 5000, 5000};
  for (const auto& [text, failure] : programs) {
    const Executed run(text, {}, budget);
    EXPECT_EQ(name_of(run.failure), failure) << text;
    EXPECT_LE(run.machine.stack().size(), 5011u);
    EXPECT_LE(run.machine.ram().size(), 5000u);
    EXPECT_LE(run.machine.output().size(), 5000u);
  }
  EXPECT_EQ(Executed("call f f: recurse", {}, budget).machine.cycles(), 1'000'000u);
  EXPECT_EQ(Executed("nop nop halt", {}, Budget{2}).failure, Failure::kCycleLimit);
  EXPECT_EQ(Executed("nop nop halt", {}, Budget{3}).failure, Failure::none);
}

TEST(Machine, RunsLeaveNothingToTheNext) {
  const Code dirty =
      code_of("sponge_init push 5 push 3 write_mem 1 write_io 1 push 9 push 8 and call f f: push 1 push 1 hash halt");
  const Code clean = code_of("push 3 read_mem 1 write_io 2 push 9 push 8 and pop 1 halt");
  Machine machine, fresh;
  ASSERT_EQ(fresh.run(clean, {}), Failure::none);
  for (int i = 0; i < 3; ++i) {
    machine.run(dirty, {});
    ASSERT_EQ(machine.run(clean, {}), Failure::none);
    EXPECT_EQ(machine.heights(), fresh.heights());
    EXPECT_EQ(values(machine.output()), (Values{2, 0}));
    EXPECT_EQ(values(machine.stack()), values(fresh.stack()));
    EXPECT_TRUE(machine.ram().empty());
    EXPECT_FALSE(machine.sponge());
    EXPECT_EQ(machine.u32_entries(), 1u);
  }
}

// Expected values: p(x) in Python's integers, for p = 11 + 22 X - 33 X^2 and for coefficients in the extension.
TEST(Machine, HornerStepsOfTheNextMachineEvaluateAPolynomial) {
  const std::string at = "push 0 push 0 push 1099511627776 push -5 push 3 ";
  const auto run = [&](const std::string& pointer, const std::string& step, std::vector<std::int64_t> words) {
    std::vector<std::pair<Element, Element>> ram;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto magnitude = Element(static_cast<std::uint64_t>(std::abs(words[i])));
      ram.emplace_back(Element(100 + i), words[i] < 0 ? -magnitude : magnitude);
    }
    const std::string text = "push 0 push 0 push 0 push 77 push " + pointer + " " + at + step + step + step + "halt";
    const auto program = tasm::assemble(ir::SourceText(text), tasm::Vm::next);
    EXPECT_TRUE(program) << text;
    Code code;
    EXPECT_TRUE(load(*program, code));
    Machine machine;
    EXPECT_EQ(
        machine.run(code, {.public_input = {}, .secret_input = {}, .secret_digests = {}, .ram = ram, .stack = {}}),
        Failure::none);
    Values top = values(machine.stack().last(10));
    std::reverse(top.begin(), top.end());
    EXPECT_EQ(machine.heights().of(Table::ram), words.size());
    EXPECT_EQ(machine.heights().of(Table::op_stack), 10u);
    return top;
  };
  const std::uint64_t minus_5 = field::kModulus - 5, big = 1099511627776;
  EXPECT_EQ(run("102", "b_horner_step ", {11, 22, -33}),
            (Values{3, minus_5, big, 0, 0, 99, 77, 18446381230577418021u, 9651513066455920u, 18437261881138805960u}));
  EXPECT_EQ(run("108", "x_horner_step ", {7, 8, 9, -1, 2, 0, 4, 4, 1}),
            (Values{3, minus_5, big, 0, 0, 99, 77, 18445926032763715555u, 18446192114577571821u, 280375465017357u}));
}

TEST(Machine, RefusesProgramsThatAreNone) {
  Code code;
  const auto refused = [&](tasm::Instruction instruction) {
    tasm::Program program;
    program.instructions = {{tasm::Op::kPush, Element(1)}, instruction};
    return !load(program, code).ok();
  };
  EXPECT_TRUE(refused({tasm::Op::kPop, Element(6)}));
  EXPECT_TRUE(refused({tasm::Op::kSwap, Element(16)}));
  EXPECT_TRUE(refused({tasm::Op::kHalt, Element(1)}));
  EXPECT_TRUE(refused({tasm::Op::kCall, Element(1)}));
  EXPECT_TRUE(refused({tasm::Op::kCall, Element(5)}));
  EXPECT_TRUE(refused({tasm::Op::kCall, field::kMinusOne}));
  EXPECT_FALSE(refused({tasm::Op::kCall, Element(4)}));
}

TEST(Map, IsAMap) {
  Map map(4);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const auto [value, is_new] = map.insert({i << 32, i % 7});
      ASSERT_TRUE(is_new);
      *value = i;
    }
    for (std::uint64_t i = 0; i < 1000; ++i) {
      ASSERT_FALSE(map.insert({i << 32, i % 7}).second);
      ASSERT_EQ(*map.find({i << 32, i % 7}), i);
      ASSERT_EQ(map.find({i << 32, i % 7 + 1}), nullptr);
    }
    EXPECT_EQ(map.size(), 1000u);
    map.clear();
    EXPECT_EQ(map.find({0, 0}), nullptr);
  }
}

}  // namespace
}  // namespace trident::tir::vm
