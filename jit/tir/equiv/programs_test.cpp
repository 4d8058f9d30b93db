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

void expect_programs(Answer answer, std::initializer_list<std::pair<const char*, const char*>> pairs) {
  for (const auto& [a, b] : pairs)
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      const Comparison found = compared(x, y);
      EXPECT_EQ(static_cast<int>(found.answer), static_cast<int>(answer)) << x << " / " << y << ": " << found.reason;
    }
}

TEST(Programs, BlockByBlock) {
  expect_programs(Answer::equal, {{"read_io 1 push 0 add write_io 1 halt", "read_io 1 write_io 1 halt"},
                                  {"call f halt f: read_io 2 swap 1 add return", "call f halt f: read_io 2 add return"},
                                  {"read_io 1 push 1 add skiz call f halt f: push 1 push 2 swap 1 write_io 2 return",
                                   "read_io 1 addi 1 skiz call f halt f: push 2 push 1 write_io 2 return"},
                                  {"push 9 call l halt l: dup 0 push 0 eq skiz return push -1 add recurse",
                                   "push 9 call l halt l: dup 0 push 0 eq skiz return addi -1 recurse"},
                                  {"push 2 skiz pop 1 push 3 push 4 pop 1 halt", "push 2 skiz pop 1 push 3 halt"},
                                  {"halt push 1", "halt push 1"}});
}

TEST(Programs, Differences) {
  expect_programs(Answer::differs,
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

const std::string kLoop = "loop: addi 1 pick 5 addi 1 place 5 recurse_or_return";

// The programs read two words; a difference needs both, and nothing else of what was drawn or given.
TEST(Programs, AWitnessHoldsOnlyWhatTheDifferenceNeeds) {
  State given;
  for (std::uint64_t i = 0; i < 50; ++i) {
    given.public_input.push_back(Element(i));
    given.secret_input.push_back(Element(i));
    given.secret_digests.push_back({});
    given.ram.push_back({Element(i), Element(i)});
  }
  for (const State& inputs : {State{}, given}) {
    const Comparison found = compared("read_io 2 lt write_io 1 halt", "read_io 2 swap 1 lt write_io 1 halt", inputs);
    EXPECT_EQ(found.answer, Answer::differs);
    EXPECT_NE(found.reason, "");
    EXPECT_EQ(found.witness.public_input.size(), 2u);
    EXPECT_TRUE(found.witness.secret_input.empty() && found.witness.secret_digests.empty() &&
                found.witness.ram.empty());
  }
  const Comparison secret = compared("divine 3 pop 2 write_io 1 halt", "divine 3 write_io 1 halt", given);
  EXPECT_EQ(secret.answer, Answer::differs);
  EXPECT_EQ(secret.witness.secret_input.size(), 3u);
  EXPECT_TRUE(secret.witness.public_input.empty() && secret.witness.ram.empty());
}

TEST(Programs, OneThatEndsDiffersFromOneThatDoesNot) {
  State three;
  three.public_input = {Element(3)};
  const std::pair<std::string, std::string> pairs[] = {
      {"read_io 1 call a write_io 1 halt a: addi 1 b: dup 0 push 5 eq skiz return recurse",
       "read_io 1 call a write_io 1 halt a: addi 1 call b return b: dup 0 push 5 eq skiz return recurse"},
      // Endless runs that grow: jumps, the stack, RAM, output.
      {"read_io 1 halt", "read_io 1 call f halt f: call f"},
      {"read_io 1 halt", "read_io 1 call f halt f: dup 0 recurse"},
      {"read_io 1 halt", "read_io 1 call f halt f: push 7 dup 1 write_mem 1 place 1 pop 1 pick 0 recurse"},
      {"read_io 1 halt", "read_io 1 call f halt f: dup 0 write_io 1 recurse"},
      {"read_io 1 push 0 assert halt", "read_io 1 call f halt f: recurse"},
      // A loop whose counter has passed its limit, against no loop.
      {"push 0 push 0 push 0 push 0 push 0 push 0 push 0 call loop halt " + kLoop,
       "push 0 push 0 push 0 push 0 push 0 push 0 push 0 halt"}};
  for (const auto& [a, b] : pairs)
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      const Comparison found = compared(x, y, three);
      EXPECT_EQ(static_cast<int>(found.answer), static_cast<int>(Answer::differs)) << x << " / " << y;
      EXPECT_NE(found.reason.find("has not ended after"), std::string::npos) << found.reason;
    }
}

TEST(Programs, OneThatTakesLongerIsWaitedFor) {
  // They end after 3 and 3 * 150,000 cycles; nothing else differs.
  const Comparison found =
      compared("push 150000 call f halt f: addi -1 dup 0 push 0 eq skiz return recurse", "push 0 nop halt");
  EXPECT_EQ(found.reason.find("only the second ends"), 0u) << found.reason;
  const Comparison slow =
      compared("push 1500 call f halt f: addi -1 dup 0 push 0 eq skiz return recurse", "push 0 halt");
  EXPECT_EQ(static_cast<int>(slow.answer), static_cast<int>(Answer::unknown)) << slow.reason;
  EXPECT_EQ(slow.undecided, 0u);
}

TEST(Programs, WordsThatAreEqualAreTriedOnPurpose) {
  const std::string big = "dup 0 split pop 1 push 77 lt pop 1 ";
  for (const auto& [a, b] :
       {std::pair<std::string, std::string>{"read_io 2 lt write_io 1 halt",
                                            "read_io 2 swap 1 lt push 0 eq write_io 1 halt"},
        // They differ only where both words are equal and not small.
        {"read_io 2 dup 1 dup 1 eq dup 1 split pop 1 push 0 eq push 0 eq mul write_io 1 halt",
         "read_io 2 push 0 write_io 1 halt"},
        // They differ only where the fifth word read equals the first.
        {"read_io 5 dup 4 dup 1 eq dup 1 split pop 1 push 0 eq push 0 eq mul write_io 1 halt",
         "read_io 5 push 0 write_io 1 halt"},
        // They differ only where a word of one input equals a word of the other.
        {"read_io 1 divine 1 dup 1 dup 1 eq dup 1 split pop 1 push 0 eq push 0 eq mul write_io 1 halt",
         "read_io 1 divine 1 push 0 write_io 1 halt"},
        // They differ unless two vectors are equal.
        {"read_io 5 divine 5 assert_vector halt", "read_io 5 divine 5 push 0 assert halt"}})
    EXPECT_EQ(static_cast<int>(compared(a, b).answer), static_cast<int>(Answer::differs)) << a << " / " << b;
}

TEST(Programs, AFailureIsKept) {
  // An instruction that can fail, moved before the test that guards it.
  const std::string guarded = "read_io 1 read_io 1 skiz call inv write_io 1 halt inv: invert return";
  const Comparison moved =
      compared(guarded, "read_io 1 read_io 1 pick 1 invert place 1 skiz call inv write_io 1 halt inv: return");
  EXPECT_EQ(static_cast<int>(moved.answer), static_cast<int>(Answer::differs));
  // Output written before a failure counts.
  expect_programs(Answer::differs, {{"read_io 1 write_io 1 push 0 assert halt", "push 0 assert halt"},
                                    {"read_io 2 write_io 1 assert halt", "read_io 2 pick 1 assert write_io 1 halt"}});
  expect_programs(Answer::equal,
                  {{"read_io 1 push 0 add write_io 1 push 0 assert halt", "read_io 1 write_io 1 push 0 assert halt"}});
}

TEST(Programs, LoopsWithoutEndTellNothing) {
  const Comparison found = compared("call f f: recurse", "call f f: nop recurse");
  EXPECT_EQ(static_cast<int>(found.answer), static_cast<int>(Answer::equal));  // decided block by block
  const Comparison endless = compared("call f f: recurse", "call f f: nop nop call g g: nop recurse");
  EXPECT_EQ(static_cast<int>(endless.answer), static_cast<int>(Answer::unknown));
  EXPECT_EQ(endless.undecided, endless.samples);
  EXPECT_EQ(endless.failed, 0u);
}

}  // namespace
}  // namespace trident::tir::equiv
