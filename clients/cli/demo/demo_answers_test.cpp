// Answers written into a workload's outputs by hand, as calls would leave them.
#include "clients/cli/demo/demo_answers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "clients/cli/bench/answers_fixture.h"

namespace trident::cli {
namespace {

constexpr DemoCode kInterpreter{0, 0}, kBaseline{1, 1}, kOptimised{2, 2}, kBetter{2, 3};

struct Fixture : SquareRoot {
  DemoAnswers answers{*checker, expr::Policy{expr::PolicyKind::bounded, 2}};

  /// A call that answers sqrt(x) rounded correctly, but element 99 by `ulp` too high.
  std::string call(const DemoCode& before, const DemoCode& after, int ulp = 0) {
    DemoAnswers::spoil(*workload);
    auto* y = static_cast<float*>(workload->outputs()[0]);
    for (std::size_t i = 0; i < 512; ++i) y[i] = std::sqrt(static_cast<const float*>(workload->inputs()[0])[i]);
    y[99] += static_cast<float>(ulp) * 0x1p-23f;
    return answers.judge(*workload, before, after);
  }
  std::string call(const DemoCode& code, int ulp = 0) { return call(code, code, ulp); }
};

TEST(DemoAnswers, TheFirstOfATierIsHeldToTheReferenceAndTheOthersToIt) {
  Fixture f;
  EXPECT_EQ(f.call(kInterpreter), "");
  EXPECT_EQ(f.call(kInterpreter), "");
  EXPECT_EQ(f.call(kBaseline, 2), "") << "within the policy: another code may round otherwise";
  EXPECT_EQ(f.call(kBaseline, 2), "");
  EXPECT_LE(f.answers.bound_share(kInterpreter.tier).value(), 0.5 / 3);  // of half an ulp, twice, and 2 ulp
  EXPECT_GT(f.answers.bound_share(kBaseline.tier).value(), 1.5 / 4);
  EXPECT_FALSE(f.answers.bound_share(kOptimised.tier).has_value());
}

TEST(DemoAnswers, OneUlpOfOneElementInOneCallIsNoticed) {
  Fixture f;
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(f.call(kBaseline), "");
  EXPECT_EQ(f.call(kBaseline, 1), "an answer changed from one call to the next at tier 1");
}

TEST(DemoAnswers, EachCodeOfATierIsHeldToTheReference) {
  Fixture f;
  EXPECT_EQ(f.call(kOptimised), "");
  EXPECT_EQ(f.call(kOptimised, kBetter, 1), "") << "of either";
  EXPECT_EQ(f.call(kBetter, 40).rfind("wrong answer at tier 2: ", 0), 0u);
  EXPECT_EQ(f.call(kBetter, 1), "") << "another code may round otherwise";
  EXPECT_EQ(f.call(kBetter), "an answer changed from one call to the next at tier 2");
}

TEST(DemoAnswers, AWrongFirstAnswerSaysWhere) {
  Fixture f;
  const std::string wrong = f.call(kOptimised, 40);
  EXPECT_EQ(wrong.rfind("wrong answer at tier 2: ", 0), 0u) << wrong;
  EXPECT_NE(wrong.find("[99]"), std::string::npos) << wrong;
  EXPECT_NE(f.call(kOptimised, 40), "") << "and is no example to follow";
}

TEST(DemoAnswers, ACallThatStoresNothingIsWrong) {
  Fixture f;
  EXPECT_EQ(f.call(kBaseline), "");
  DemoAnswers::spoil(*f.workload);
  EXPECT_NE(f.answers.judge(*f.workload, kBaseline, kBaseline), "");
}

TEST(DemoAnswers, AroundASwapEitherCodesAnswerIsRightAndNoOther) {
  Fixture f;
  EXPECT_EQ(f.call(kInterpreter), "");
  EXPECT_EQ(f.call(kInterpreter, kBaseline), "");     // still the old code's
  EXPECT_EQ(f.call(kInterpreter, kBaseline, 1), "");  // the new code's, held to the reference
  EXPECT_NE(f.call(kInterpreter, kBaseline, 40), "");
  EXPECT_EQ(f.call(kBaseline, -1), "") << "what may be of either tier is no example for one";
  EXPECT_EQ(f.call(kBaseline, kInterpreter, -1), "");
}

}  // namespace
}  // namespace trident::cli
