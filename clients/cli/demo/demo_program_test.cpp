// The demo's program as it is, and with a problem that it must not pass. Fibonacci numbers from their published table.
#include "clients/cli/demo/demo_program.h"

#include <gtest/gtest.h>

namespace trident::cli {
namespace {

using tir::vm::Element;

TEST(DemoProgram, IsRightAndHalves) {
  const auto program = run_demo_program(fibonacci_problem());
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_TRUE(program->right());
  EXPECT_TRUE(program->halved());
  EXPECT_FALSE(program->failed());
  const std::string text = demo_program_text(*program);
  EXPECT_NE(text.find("both programs answer right on all of 11 inputs"), std::string::npos) << text;
  for (const auto name : tir::vm::kTableNames)
    EXPECT_NE(text.find("\n" + std::string(name)), std::string::npos) << name;
  EXPECT_EQ(text.find("WRONG"), std::string::npos);
  const std::string page = demo_program_html(*program);
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("cascade"), std::string::npos);
  EXPECT_EQ(page.find("WRONG"), std::string::npos);
}

TEST(DemoProgram, AnswersArePublishedOnes) {
  const ProgramProblem problem = fibonacci_problem();
  const auto number = [&](std::uint64_t n) { return problem.answer({Element(n)}); };
  EXPECT_EQ(number(0), (Words{Element(0), Element(0), Element(0), Element(0)}));
  EXPECT_EQ(number(48)[0].value() + (number(48)[1].value() << 32), 4807526976u);
  // 354224848179261915075 = 0x13'33db'76a7'c594'bfc3
  EXPECT_EQ(number(100), (Words{Element(0xc594bfc3), Element(0x33db76a7), Element(0x13), Element(0)}));
}

TEST(DemoProgram, OtherAnswersAreAFailure) {
  ProgramProblem problem = fibonacci_problem();
  problem.checked.resize(4);
  const auto right = problem.answer;
  problem.answer = [&](const Words& input) {
    Words out = right(input);
    if (input[0].value() == 2) out[3] = Element(1);
    return out;
  };
  const auto program = run_demo_program(problem);
  ASSERT_TRUE(program.ok());
  EXPECT_TRUE(program->checks[1].right());
  EXPECT_FALSE(program->checks[2].right_before || program->checks[2].right_after);
  EXPECT_TRUE(program->halved());
  EXPECT_TRUE(program->failed());
  EXPECT_NE(demo_program_text(*program).find("WRONG ANSWERS among 4 inputs"), std::string::npos);
  EXPECT_NE(demo_program_html(*program).find("WRONG"), std::string::npos);
}

TEST(DemoProgram, NoGainIsAFailureOfTheDemo) {
  ProgramProblem problem{"echo", "What it reads", "read_io 1\nwrite_io 1\nhalt", {Element(1)}, {{Element(5)}}, {}};
  problem.answer = [](const Words& input) { return input; };
  const auto program = run_demo_program(problem);
  ASSERT_TRUE(program.ok());
  EXPECT_TRUE(program->right());
  EXPECT_TRUE(program->failed());
  EXPECT_NE(demo_program_text(*program).find("padded height 256 to 256, WHICH IS NOT HALF OF IT"), std::string::npos);
}

TEST(DemoProgram, MistakesAreErrors) {
  ProgramProblem problem = fibonacci_problem();
  problem.text = "frobnicate";
  EXPECT_FALSE(run_demo_program(problem).ok());
  problem = fibonacci_problem();
  problem.built_for = {};
  EXPECT_FALSE(run_demo_program(problem).ok());
}

TEST(HeightsText, Lines) {
  ProgramSize before, after;
  before.heights.rows[0] = 150, after.heights.rows[0] = 110;
  before.heights.rows[1] = 1781, after.heights.rows[1] = 981;
  before.words = 148, after.words = 100;
  const std::string text = heights_text(before, after);
  EXPECT_NE(text.find("program              150          110    -26.7 %\n"), std::string::npos) << text;
  EXPECT_NE(text.find("processor           1781          981    -44.9 %  decides\n"), std::string::npos) << text;
  EXPECT_NE(text.find("padded              2048         1024\nwords                148          100\n"),
            std::string::npos);
}

}  // namespace
}  // namespace trident::cli
