// Oracle: texts worked out by hand, and the machine on programs before and after.
#include "jit/tir/shape/shape.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "jit/tir/language/program.h"
#include "jit/tir/lowering/lowering.h"
#include "jit/tir/lowering/random_program.h"
#include "jit/tir/shape/hostile_program.h"
#include "jit/tir/shape/regions.h"
#include "jit/tir/vm/machine.h"

namespace trident::tir::shape {
namespace {

using field::Element;

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
       {"", "nop", "call f halt f: push 1 assert error_id 3 g: call g break nop return h: hint x = stack[0]",
        "call f f: push 1 assert error_id 3 nop assert error_id 4"}) {
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

TEST(Shape, LoopsTestAtTheirEndWhateverTheyTest) {
  const auto turned = [](const std::string& call, const std::string& loop) {
    return changed("loops", call + " halt l: " + loop);
  };
  EXPECT_EQ(turned("read_io 1 push 1 call l", "dup 1 push 0 eq skiz return dup 1 mul recurse"),
            printed("read_io 1 push 1 dup 1 skiz call l halt l: dup 1 mul dup 1 skiz recurse return"));
  EXPECT_EQ(turned("call l", "push 0 dup 3 eq skiz return swap 2 recurse"),
            printed("dup 2 skiz call l halt l: swap 2 dup 2 skiz recurse return"));
  EXPECT_EQ(turned("call l", "dup 4 dup 4 lt push 0 eq skiz return addi 1 recurse"),
            printed("dup 4 dup 4 lt skiz call l halt l: addi 1 dup 4 dup 4 lt skiz recurse return"));
  EXPECT_EQ(turned("call l", "push 0 eq skiz return dup 1 recurse"),
            printed("skiz call l halt l: dup 1 skiz recurse return"));
  // A body may return early.
  EXPECT_EQ(turned("call l", "dup 1 push 0 eq skiz return dup 0 skiz return addi 1 recurse"),
            printed("dup 1 skiz call l halt l: dup 0 skiz return addi 1 dup 1 skiz recurse return"));
  // Constants below the relevant one; one that is 0; too few.
  EXPECT_EQ(turned("push 9 push 0 call l", "dup 1 push 0 eq skiz return nop recurse"),
            printed("push 9 push 0 call l halt l: nop dup 1 skiz recurse return"));
  EXPECT_EQ(turned("push 0 push 9 call l", "dup 1 push 0 eq skiz return nop recurse"),
            printed("push 0 push 9 dup 1 skiz call l halt l: nop dup 1 skiz recurse return"));
  EXPECT_EQ(turned("push 9 call l", "dup 1 push 0 eq skiz return nop recurse"),
            printed("push 9 dup 1 skiz call l halt l: nop dup 1 skiz recurse return"));
  for (const char* other : {"dup 1 push 1 eq skiz return nop recurse", "dup 1 push 0 eq skiz halt nop recurse",
                            "dup 1 push 0 eq skiz return dup 2 skiz recurse nop recurse",
                            "dup 1 push 0 eq skiz return call l recurse", "dup 1 push 0 eq skiz return nop return"})
    EXPECT_EQ(turned("call l", other), printed(std::string("call l halt l: ") + other));
}

TEST(Shape, WhatNoRunComesToGoes) {
  const auto left = [](const std::string& text) { return changed("unreachable", text); };
  EXPECT_EQ(left("halt nop f: call f return"), printed("halt"));
  EXPECT_EQ(left("call f halt call g f: nop recurse nop call g g: return"), printed("call f halt f: nop recurse"));
  EXPECT_EQ(left("read_io 1 skiz halt nop call f halt f: push 1 skiz return recurse_or_return nop"),
            printed("read_io 1 skiz halt nop call f halt f: push 1 skiz return recurse_or_return"));
  // A line behind a dead `skiz` is no longer skipped.
  EXPECT_EQ(left("call f halt skiz f: return nop"), printed("call f halt f: return"));
  // Calls to the end of the text, where a run fails; numbers stay.
  EXPECT_EQ(left("call e halt nop e:"), printed("call e halt e:"));
  EXPECT_EQ(left("push 1 assert error_id 4 halt push 0 assert error_id 5"), printed("push 1 assert error_id 4 halt"));
}

TEST(Shape, RepeatedInstructionsBecomeOneSubroutine) {
  const std::string three = "push 1 push 2 push 3 add mul pop 1 nop push 1 push 2 push 3 add mul pop 1 halt";
  const auto program = outline_one(assembled(three));
  EXPECT_EQ(tasm::print(program),
            printed("call shared__1 nop call shared__1 halt shared__1: push 1 push 2 push 3 add mul pop 1 return"));
  EXPECT_EQ(tasm::print(outline_one(assembled("nop nop nop halt"))), printed("nop nop nop halt"));
}

// A label can stand right behind `skiz`: a search backwards must cross the border of regions.
TEST(Shape, WhatASkizMaySkipStaysOneInstruction) {
  const auto unchanged = [](std::string_view name, const std::string& text) {
    EXPECT_EQ(changed(name, text), printed(text));
  };
  unchanged("inlined", "read_io 1 skiz l: call f read_io 1 skiz call l halt f: push 7 push 8 add pop 1 return");
  unchanged("unreachable", "read_io 1 skiz l: halt dead: push 7 write_io 1 read_io 1 skiz call l call dead halt");
  unchanged("loops",
            "push 7 read_io 1 skiz l: call loop read_io 1 skiz call l halt loop: dup 0 push 0 eq skiz return addi -1 "
            "recurse");
  // The push that proves that the loop runs at least once may be skipped itself.
  EXPECT_EQ(changed("loops",
                    "push 0 read_io 1 skiz l: push 3 call loop read_io 1 skiz call l halt loop: dup 0 push 0 "
                    "eq skiz return addi -1 recurse"),
            printed("push 0 read_io 1 skiz l: push 3 dup 0 skiz call loop read_io 1 skiz call l halt loop: addi -1 "
                    "dup 0 skiz recurse return"));
  unchanged("branches",
            "push 5 read_io 1 skiz l: push 1 swap 1 skiz call a skiz call b read_io 1 skiz call l halt a: pop 1 push 0 "
            "return b: nop return");
  unchanged("merged", "call f call g call l halt nop skiz l: return f: push 1 return g: push 1 return");
  const std::string piece = "push 1 push 2 push 3 add mul pop 1 ", shared = "push 2 push 3 add mul pop 1 ";
  EXPECT_EQ(tasm::print(outline_one(assembled("read_io 1 skiz l: " + piece + "nop " + piece + "call l halt"))),
            printed("read_io 1 skiz l: push 1 call shared__2 nop push 1 call shared__2 call l halt shared__2: " +
                    shared + "return"));
}

TEST(Shape, CopiesAreProgramsThatAssemble) {
  // A label that is never called, in a body that is placed twice.
  EXPECT_EQ(changed("inlined", "call f call f halt f: split inner: mul return"), printed("split mul split mul halt"));
  // A number stays with its assertion, unless the other place has another number.
  const auto three = [](const std::string& a, const std::string& b) {
    const std::string piece = "push 1 push 2 push 3 add mul assert error_id ";
    return tasm::print(outline_one(assembled(piece + a + " nop " + piece + b + " pop 1 " + piece + b + " halt")));
  };
  const std::string body = "halt shared__1: push 1 push 2 push 3 add mul assert ";
  EXPECT_EQ(three("5", "5"),
            printed("call shared__1 nop call shared__1 pop 1 call shared__1 " + body + "error_id 5 return"));
  EXPECT_EQ(three("5", "6"), printed("call shared__1 nop call shared__1 pop 1 call shared__1 " + body + "return"));
  // Names that are taken by subroutines and by labels that are never called.
  const std::string user =
      "call shared__2 shared__3: push 1 push 2 push 3 add mul pop 1 nop push 1 push 2 push 3 add mul pop 1 halt "
      "shared__2: return";
  EXPECT_EQ(
      tasm::print(outline_one(assembled(user))),
      printed("call shared__2 shared__3: call shared__4 nop call shared__4 halt shared__2: return shared__4: push "
              "1 push 2 push 3 add mul pop 1 return"));
}

/// Runs both from the same state and compares everything that is left; false if that proves nothing.
bool same_end(const vm::Code& before, const vm::Code& after, const vm::Inputs& inputs) {
  static vm::Machine a, b;
  vm::Budget budget;
  budget.cycles = 4'000;
  if (a.run(before, inputs, budget) == vm::Failure::kCycleLimit) return false;
  budget.cycles = 40'000;
  b.run(after, inputs, budget);
  EXPECT_EQ(vm::name_of(a.failure()), vm::name_of(b.failure()));
  if (a.failure() != vm::Failure::none) return false;
  EXPECT_EQ(a.output(), b.output());
  EXPECT_TRUE(std::equal(a.stack().begin(), a.stack().end(), b.stack().begin(), b.stack().end()));
  EXPECT_EQ(a.ram(), b.ram());
  EXPECT_EQ(a.inputs_taken(), b.inputs_taken());
  return true;
}

TEST(Shape, HostileProgramsEndTheSame) {
  const char* asked = std::getenv("TRIDENT_TIR_HOSTILE");
  const std::uint64_t programs = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 2'000;
  std::map<std::string_view, std::size_t> different;
  std::size_t ended = 0, runs = 0;
  std::vector<Element> stack;
  for (std::uint64_t i = 0; i < 21; ++i) stack.emplace_back(i);
  for (std::uint64_t seed = 0; seed < programs; ++seed) {
    HostileProgram random(seed);
    const tasm::Program given = assembled(random.text());
    std::vector<tasm::Program> variants;
    tasm::Program all = given;
    const auto add = [&](std::string_view name, const tasm::Program& from, tasm::Program to) {
      if (from.instructions == to.instructions) return;
      ++different[name];
      EXPECT_EQ(assembled(tasm::print(to)).instructions, to.instructions) << seed << tasm::print(to);
      variants.push_back(std::move(to));
    };
    for (const ChangeRow& row : changes()) {
      add(row.name, given, row.apply(given));
      all = row.apply(all);
    }
    add("outlined", given, outline_one(given));
    add("all", given, outline_one(outline_one(all)));
    vm::Code before;
    ASSERT_TRUE(vm::load(given, before, vm::Hashing::none));
    std::vector<std::vector<Element>> inputs;
    for (int i = 0; i < 12; ++i) inputs.push_back(random.input(60));
    for (const tasm::Program& variant : variants) {
      vm::Code after;
      ASSERT_TRUE(vm::load(variant, after, vm::Hashing::none));
      for (const auto& input : inputs) {
        ++runs;
        ended += same_end(before, after, {input, {}, {}, {}, stack}) ? 1 : 0;
        ASSERT_FALSE(::testing::Test::HasFailure()) << seed << "\n"
                                                    << tasm::print(given) << "\n"
                                                    << tasm::print(variant);
      }
    }
  }
  EXPECT_GT(ended, runs / 5);
  for (const ChangeRow& row : changes()) EXPECT_GT(different[row.name], programs / 40) << row.name;
  EXPECT_GT(different["outlined"], programs / 10);
  std::printf("%zu of %zu runs ended\n", ended, runs);
  for (const auto& [name, count] : different) std::printf("%zu programs %s\n", count, std::string(name).c_str());
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
