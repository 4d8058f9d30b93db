// Oracle: pairs of programs that are known to differ, and where; programs that are known to be the same.
#include "jit/tir/equiv/trials.h"

#include <gtest/gtest.h>

namespace trident::tir::equiv {
namespace {

tasm::Program assembled(const std::string& text) {
  auto program = tasm::assemble(ir::SourceText(text));
  EXPECT_TRUE(program) << text;
  return std::move(program).value();
}
std::vector<Element> elements(std::initializer_list<std::uint64_t> list) {
  std::vector<Element> out;
  for (const std::uint64_t e : list) out.emplace_back(e);
  return out;
}
State reading(std::initializer_list<std::uint64_t> input) {
  State state;
  state.public_input = elements(input);
  return state;
}

TEST(Trials, FindsWhatTheGivenInputsDoNotShow) {
  // The program writes only where the first word is 0, the second is not and the third is 0.
  const auto program =
      assembled("read_io 1 skiz halt read_io 1 push 0 eq skiz halt read_io 1 skiz halt push 7 write_io 1 halt");
  const auto other =
      assembled("read_io 1 skiz halt read_io 1 push 0 eq skiz halt read_io 1 skiz halt push 8 write_io 1 halt");
  Trials trials(program, reading({1}), {});
  EXPECT_EQ(trials.difference(program), "");
  EXPECT_EQ(trials.difference(other), "the outputs differ");
  EXPECT_GT(trials.ended(), 20u);
}

TEST(Trials, TheEndAndTheFailureCount) {
  const auto program = assembled("read_io 1 push 5 write_mem 1 pop 1 read_io 1 skiz assert halt");
  Trials trials(program, reading({3, 0}), {});
  EXPECT_EQ(trials.difference(assembled("read_io 1 push 6 write_mem 1 pop 1 read_io 1 skiz assert halt")),
            "the words in RAM differ");
  EXPECT_NE(trials.difference(assembled("read_io 1 push 5 write_mem 1 pop 1 read_io 1 skiz nop halt")), "");
  // The candidate has other steps and fails elsewhere.
  EXPECT_EQ(trials.difference(assembled("read_io 1 push 5 write_mem 1 pop 1 read_io 1 skiz call f halt f: push 1 eq "
                                        "push 1 eq assert return")),
            "");
  EXPECT_EQ(trials.difference(assembled("read_io 1 push 5 write_mem 1 pop 1 read_io 1 skiz call l halt l: recurse"))
                .substr(0, 26),
            "only the first ends, after");
}

TEST(Trials, SlowerIsTheSameAndTimeIsKept) {
  const auto program = assembled("read_io 1 push 63 and call l halt l: dup 0 push 0 eq skiz return addi -1 recurse");
  Trials trials(program, reading({3}), {});
  EXPECT_EQ(trials.difference(assembled("read_io 1 push 63 and call l halt l: dup 0 push 0 eq skiz return nop nop nop "
                                        "addi -1 recurse")),
            "");
  Trials hasty(program, reading({3}), {.time = std::chrono::milliseconds(0)});
  EXPECT_EQ(hasty.difference(program), "");
  EXPECT_GT(hasty.states(), 0u);
  EXPECT_LT(hasty.states(), 10u);
}

TEST(Trials, TellWhoLooksAtTheDigest) {
  EXPECT_TRUE(Trials(assembled("dup 15 write_io 1 halt"), reading({}), {}).looks_at_digest());
  EXPECT_TRUE(
      Trials(assembled("read_io 1 skiz halt dup 15 push 9 eq assert halt"), reading({1}), {}).looks_at_digest() ==
      false);  // fails either way
  EXPECT_TRUE(Trials(assembled("read_io 1 skiz halt dup 15 write_io 1 halt"), reading({1}), {}).looks_at_digest());
  EXPECT_FALSE(Trials(assembled("dup 10 write_io 1 halt"), reading({}), {}).looks_at_digest());
}

}  // namespace
}  // namespace trident::tir::equiv
