// Oracle: texts worked out by hand, and the machine on programs before and after.
#include "jit/tir/shape/shape.h"

#include <gtest/gtest.h>

#include "jit/tir/language/program.h"
#include "jit/tir/lowering/lowering.h"
#include "jit/tir/lowering/random_program.h"
#include "jit/tir/shape/regions.h"
#include "jit/tir/vm/machine.h"

namespace trident::tir::shape {
namespace {

tasm::Program assembled(const std::string& text) {
  auto program = tasm::assemble(ir::SourceText(text));
  EXPECT_TRUE(program) << text;
  return std::move(program).value();
}
std::string changed(std::string_view name, const std::string& text) {
  for (const ChangeRow& row : changes())
    if (row.name == name) return tasm::print(row.apply(assembled(text)));
  return "no such change";
}
std::string printed(const std::string& text) {
  return tasm::print(assembled(text));
}

TEST(Regions, GiveTheSameProgram) {
  for (const char* text :
       {"", "nop", "call f halt f: push 1 assert error_id 3 g: call g break nop return h: hint x = stack[0]"}) {
    EXPECT_EQ(tasm::print(program_of(regions_of(assembled(text)))), printed(text));
  }
}

TEST(Shape, EachChange) {
  EXPECT_EQ(changed("unreachable", "call f halt f: nop return g: call g return"), printed("call f halt f: nop return"));
  EXPECT_EQ(changed("inlined", "call f halt f: push 1 push 2 add pop 1 return"),
            printed("push 1 push 2 add pop 1 halt"));
  EXPECT_EQ(changed("inlined", "push 1 skiz call f halt f: nop return"), printed("push 1 skiz nop halt"));
  EXPECT_EQ(changed("inlined", "push 1 skiz call f halt f: nop nop return"),
            printed("push 1 skiz call f halt f: nop nop return"));
  EXPECT_EQ(changed("inlined", "call f halt f: nop recurse"), printed("call f halt f: nop recurse"));
  EXPECT_EQ(changed("inlined", "call f halt f: push 0 skiz return nop return"),
            printed("call f halt f: push 0 skiz return nop return"));
  EXPECT_EQ(changed("merged", "call f call g halt f: push 1 return g: push 1 return"),
            printed("call f call f halt f: push 1 return"));
  EXPECT_EQ(changed("branches", "push 1 swap 1 skiz call a skiz call b halt a: pop 1 push 0 return b: nop return"),
            printed("push 0 eq skiz call b halt a: pop 1 push 0 return b: nop return"));
  EXPECT_EQ(changed("branches", "push 1 swap 1 skiz call a skiz call b halt a: pop 1 nop push 0 return b: return"),
            printed("skiz call a halt a: nop return b: return"));
  EXPECT_EQ(changed("loops", "push 3 call l halt l: dup 0 push 0 eq skiz return addi -1 recurse"),
            printed("push 3 call l halt l: addi -1 dup 0 skiz recurse return"));
  EXPECT_EQ(changed("loops", "read_io 1 call l halt l: dup 0 push 0 eq skiz return addi -1 recurse"),
            printed("read_io 1 dup 0 skiz call l halt l: addi -1 dup 0 skiz recurse return"));
  EXPECT_EQ(changed("loops", "push 1 skiz call l halt l: dup 0 push 0 eq skiz return addi -1 recurse"),
            printed("push 1 skiz call l halt l: dup 0 push 0 eq skiz return addi -1 recurse"));
}

TEST(Shape, RepeatedInstructionsBecomeOneSubroutine) {
  const std::string three = "push 1 push 2 push 3 add mul pop 1 nop push 1 push 2 push 3 add mul pop 1 halt";
  const auto program = outline_one(assembled(three));
  EXPECT_EQ(tasm::print(program),
            printed("call shared__1 nop call shared__1 halt shared__1: push 1 push 2 push 3 add mul pop 1 return"));
  EXPECT_EQ(tasm::print(outline_one(assembled("nop nop nop halt"))), printed("nop nop nop halt"));
}

TEST(Shape, RandomProgramsEndTheSame) {
  std::size_t different = 0, ended = 0;
  for (std::uint64_t seed = 0; seed < 1'500; ++seed) {
    lowering::RandomProgram random(seed);
    const std::string text = random.text();
    const auto tir = language::parse(ir::SourceText(text));
    ASSERT_TRUE(tir) << text;
    const tasm::Program before = lowering::lower(*tir);
    tasm::Program after = before;
    for (const ChangeRow& row : changes()) after = row.apply(after);
    after = outline_one(outline_one(after));
    different += tasm::print(before) != tasm::print(after) ? 1 : 0;
    const auto stack = random.elements(16 + seed % 30), input = random.elements(40), secret = random.elements(40);
    const auto digests = random.digests(8);
    vm::Code code_before, code_after;
    ASSERT_TRUE(vm::load(before, code_before));
    ASSERT_TRUE(vm::load(after, code_after)) << tasm::print(after);
    vm::Machine a, b;
    vm::Budget budget;
    budget.cycles = 100'000;
    a.run(code_before, {input, secret, digests, {}, stack}, budget);
    budget.cycles = 200'000;
    b.run(code_after, {input, secret, digests, {}, stack}, budget);
    if (a.failure() == vm::Failure::kCycleLimit) continue;
    ASSERT_EQ(vm::name_of(a.failure()), vm::name_of(b.failure())) << tasm::print(before) << "\n" << tasm::print(after);
    if (a.failure() != vm::Failure::none) continue;
    ++ended;
    ASSERT_EQ(a.output(), b.output());
    ASSERT_TRUE(std::equal(a.stack().begin(), a.stack().end(), b.stack().begin(), b.stack().end()));
    ASSERT_EQ(a.ram(), b.ram());
  }
  EXPECT_GT(different, 800u);
  EXPECT_GT(ended, 300u);
}

TEST(Shape, VeryLargeProgramsStayAsTheyAre) {
  const auto with_functions = [](int count) {
    std::string text, bodies;
    for (int i = 0; i < count; ++i) {
      text += "call f" + std::to_string(i) + " ";
      bodies += " f" + std::to_string(i) + ": push 7 push 8 mul addi 9 return";
    }
    return assembled(text + "halt" + bodies);
  };
  const tasm::Program few = with_functions(30), many = with_functions(20'000);
  bool changed = false;
  for (const ChangeRow& row : changes()) {
    changed |= !tasm::same(few, row.apply(few));
    EXPECT_TRUE(tasm::same(many, row.apply(many))) << row.name;
  }
  EXPECT_TRUE(changed);
  EXPECT_FALSE(tasm::same(few, outline_one(few)));
  EXPECT_TRUE(tasm::same(many, outline_one(many)));
}

}  // namespace
}  // namespace trident::tir::shape
