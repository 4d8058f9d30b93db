// Oracle: the outputs of cases.json, computed by reference.py from the problems' definitions.
#include "tests/tir/corpus/corpus.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "jit/tir/language/interpreter.h"
#include "jit/tir/lowering/lowering.h"

namespace trident::tir::corpus {
namespace {

constexpr std::size_t kCasesMin = 100, kHeldOutMin = 40, kByHandMin = 37, kPaddedMin = 6;

std::vector<std::uint64_t> values(const std::vector<Element>& list) {
  std::vector<std::uint64_t> out;
  for (const Element e : list) out.push_back(e.value());
  return out;
}

void expect_output(const Case& c, const char* how, const tasm::Program& program) {
  const Measured result = run(program, c);
  EXPECT_EQ(result.failure, vm::Failure::none) << c.name << ", " << how << ": " << result.failure_text;
  EXPECT_EQ(values(result.output), values(c.expected_output)) << c.name << ", " << how;
}

TEST(Corpus, InterpretsToTheExpectedOutput) {
  for (const Case& c : read_cases()) {
    const language::Program program = program_of(c);
    const std::vector<Element> stack(16);
    const language::Inputs inputs{c.public_input, c.secret_input, c.secret_digests, stack, c.ram};
    const language::Outcome outcome = language::interpret(program, inputs, 10'000'000);
    EXPECT_EQ(outcome.end, language::Outcome::End::halted)
        << c.name << ": byte " << (outcome.at == nullptr ? 0 : outcome.at->offset);
    EXPECT_EQ(values(outcome.output), values(c.expected_output)) << c.name;
  }
}

TEST(Corpus, LowersToTheExpectedOutput) {
  for (const Case& c : read_cases()) {
    const language::Program program = program_of(c);
    lowering::Options plain;
    plain.passes = lowering::PassSet::none();
    expect_output(c, "without passes", lowering::lower(program, plain));
    expect_output(c, "with passes", lowering::lower(program));
  }
}

TEST(Corpus, TheSameByHand) {
  for (const Case& c : read_cases())
    if (const auto program = hand_of(c)) expect_output(c, "by hand", *program);
}

TEST(Corpus, TheSameByHandForOtherInputs) {
  for (Case& c : read_cases()) {
    const auto hand = hand_of(c);
    if (!hand) continue;
    const tasm::Program lowered = lowering::lower(program_of(c));
    for_each_other_input(c, [&] {
      const Measured a = run(lowered, c, kOtherInputBudget), b = run(*hand, c, kOtherInputBudget);
      EXPECT_EQ(a.failure == vm::Failure::none, b.failure == vm::Failure::none)
          << c.name << ": " << a.failure_text << " / " << b.failure_text;
      if (a.failure != vm::Failure::none) return;
      EXPECT_EQ(values(a.output), values(b.output)) << c.name;
    });
  }
}

/// A program that ignored its input would be no realistic one: some other input gives another output or a failure.
TEST(Corpus, OutputDependsOnTheInput) {
  for (Case& c : read_cases()) {
    if (c.public_input.empty() && c.secret_input.empty()) continue;
    const tasm::Program program = lowering::lower(program_of(c));
    bool depends = false;
    for_each_other_input(c, [&] {
      if (depends) return;
      const Measured result = run(program, c, kOtherInputBudget);
      depends = result.failure != vm::Failure::none || result.output != c.expected_output;
    });
    EXPECT_TRUE(depends) << c.name;
  }
}

TEST(Corpus, HasSpread) {
  std::set<std::string> topics, texts;
  std::map<std::uint64_t, int> padded;
  std::size_t held_out = 0, by_hand = 0;
  const std::vector<Case> cases = read_cases();
  for (const Case& c : cases) {
    topics.insert(c.topic);
    texts.insert(c.text);
    held_out += c.held_out ? 1 : 0;
    by_hand += c.hand.empty() ? 0 : 1;
    ++padded[run(lowering::lower(program_of(c)), c).heights.padded()];
  }
  EXPECT_EQ(texts.size(), cases.size());
  EXPECT_GE(cases.size(), kCasesMin);
  EXPECT_GE(held_out, kHeldOutMin);
  EXPECT_GE(by_hand, kByHandMin);
  EXPECT_GE(padded.size(), kPaddedMin);
}

}  // namespace
}  // namespace trident::tir::corpus
