// Oracles: pairs of programs worked out by hand.
#include "jit/tir/equiv/programs.h"

#include <gtest/gtest.h>

namespace trident::tir::equiv {
namespace {

Comparison compared(const std::string& a, const std::string& b, State given = {}) {
  const auto x = tasm::assemble(ir::SourceText(a)), y = tasm::assemble(ir::SourceText(b));
  EXPECT_TRUE(x.ok() && y.ok()) << a << " / " << b;
  Samples samples;
  samples.given = std::move(given);
  return compare(*x, *y, samples);
}

void expect(Answer answer, std::initializer_list<std::pair<const char*, const char*>> pairs) {
  for (const auto& [a, b] : pairs)
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      const Comparison found = compared(x, y);
      EXPECT_EQ(static_cast<int>(found.answer), static_cast<int>(answer)) << x << " / " << y << ": " << found.reason;
    }
}

TEST(Programs, BlockByBlock) {
  expect(Answer::equal, {{"read_io 1 push 0 add write_io 1 halt", "read_io 1 write_io 1 halt"},
                         {"call f halt f: read_io 2 swap 1 add return", "call f halt f: read_io 2 add return"},
                         {"read_io 1 push 1 add skiz call f halt f: push 1 push 2 swap 1 write_io 2 return",
                          "read_io 1 addi 1 skiz call f halt f: push 2 push 1 write_io 2 return"},
                         {"push 9 call l halt l: dup 0 push 0 eq skiz return push -1 add recurse",
                          "push 9 call l halt l: dup 0 push 0 eq skiz return addi -1 recurse"},
                         {"push 2 skiz pop 1 push 3 push 4 pop 1 halt", "push 2 skiz pop 1 push 3 halt"},
                         {"halt push 1", "halt push 1"}});
}

TEST(Programs, Differences) {
  expect(Answer::differs,
         {{"read_io 1 write_io 1 halt", "read_io 1 pop 1 halt"},
          {"call f halt f: read_io 2 lt return", "call f halt f: read_io 2 swap 1 lt return"},
          {"push 9 call l halt l: dup 0 push 0 eq skiz return addi -1 recurse",
           "push 9 call l halt l: dup 0 push 1 eq skiz return addi -1 recurse"},
          {"push 1 skiz push 5 push 6 halt", "push 1 skiz push 6 push 5 halt"},
          {"push 0 skiz nop halt", "push 0 skiz halt nop push 1 halt"},
          {"push 0 skiz pop 1 halt", "push 0 skiz nop pop 1 halt"},
          {"read_io 1 call f halt f: skiz return return", "read_io 1 call f halt f: skiz recurse return"},
          {"push 1 halt", "push 1"}});
}

TEST(Programs, WhatIsNotShapedAlikeIsOnlySampled) {
  const Comparison found =
      compared("read_io 1 call f write_io 1 halt f: dup 0 mul return", "read_io 1 dup 0 mul write_io 1 halt");
  EXPECT_EQ(static_cast<int>(found.answer), static_cast<int>(Answer::unknown));
  EXPECT_EQ(found.samples, 200u);
  EXPECT_LT(found.failed, 20u);
  EXPECT_NE(found.reason, "");
}

TEST(Programs, WhatIsGivenIsTriedFirst) {
  State given;
  given.public_input = {Element(77), Element(123456789123)};
  const Comparison found = compared("read_io 1 push 77 eq assert read_io 1 push 123456789123 eq write_io 1 halt",
                                    "read_io 1 push 77 eq assert read_io 1 pop 1 push 0 write_io 1 halt", given);
  EXPECT_EQ(static_cast<int>(found.answer), static_cast<int>(Answer::differs));
  EXPECT_EQ(found.samples, 1u);
  EXPECT_EQ(found.witness.public_input, given.public_input);
}

TEST(Programs, LoopsWithoutEndTellNothing) {
  const Comparison found = compared("call f f: recurse", "call f f: nop recurse");
  EXPECT_EQ(static_cast<int>(found.answer), static_cast<int>(Answer::equal));  // block by block
  EXPECT_EQ(static_cast<int>(compared("call f f: recurse", "call g g: call g").answer),
            static_cast<int>(Answer::unknown));
}

}  // namespace
}  // namespace trident::tir::equiv
