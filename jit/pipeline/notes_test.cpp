// Notes that explain why a kernel is not optimised. Oracle: the limit that each test sets.
#include <gtest/gtest.h>

#include "jit/pipeline/pass_scope.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/cpu.h"

namespace trident::pipeline {
namespace {

expr::Expr parsed() {
  auto e = expr::parse_infix("x * y + x / (y * y + 1)", {.type = expr::Type::f64, .variables = {}});
  CHECK(e.ok());
  return std::move(e).value();
}

Optimised optimised(const Options& options) {
  auto result = optimise(parsed(), options);
  CHECK(result.ok());
  return std::move(result).value();
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class Notes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  }
};

TEST_F(Notes, NameTheTimeThatWasSpentAndOnHowMuch) {
  const Optimised late = optimised({.budget = {.cpu_ns = 100'000'000}});
  EXPECT_EQ(late.outcome, Outcome::budget_spent);
  // A fast machine measures the baseline within this time, and no other candidate.
  if (has(late.note, "nothing but the baseline could be measured")) {
    EXPECT_TRUE(has(late.note, "were not checked within the limit of processor time")) << late.note;
    return;
  }
  // The clock's limit comes first on a machine so busy that it gives less than a tenth of a processor.
  const bool by_clock = has(late.note, "not optimised: the limit of 1 s was reached in pass '");
  const bool by_budget = has(late.note, "not optimised: the limit of 0.1 s of processor time was reached in pass '");
  const bool by_checks =
      has(late.note, "used up their share of the limit of 0.1 s of processor time in pass 'meaning'");
  EXPECT_TRUE(by_clock || by_budget || by_checks) << late.note;
  EXPECT_TRUE(has(late.note, "with " + std::to_string(parsed().nodes.size()) + " operations")) << late.note;
}

TEST_F(Notes, SayWhoGaveUp) {
  const std::atomic<bool> cancelled{true};
  const Optimised cut = optimised({.budget = {.cancelled = &cancelled}});
  EXPECT_TRUE(has(cut.note, "cancelled by the client")) << cut.note;
}

TEST_F(Notes, SayThatNothingElseWasMeasured) {
  Options options{.search = {.disabled = {"interleave", "schedule", "non_temporal"}}};
  for (const char* name : kRewriting) options.search.disabled.emplace_back(name);
  for (const char* name : {"contracted", "accuracy4", "rel3"}) options.search.disabled.emplace_back(name);
  const Optimised same = optimised(options);
  EXPECT_EQ(same.outcome, Outcome::no_gain);
  EXPECT_EQ(same.note, "not optimised: nothing but the baseline could be measured");
}

TEST_F(Notes, TellOfFormsThatCouldNotBeMade) {
  const Options options;
  const std::function<void(const Progress&)> nobody;
  const PassScope passes(options, nobody);
  passes.give_up("searched", make_error(ErrorCode::kUnsupported, "an integer power beyond 32 bits"));
  ASSERT_EQ(passes.given_up().size(), 1u);
  EXPECT_EQ(passes.given_up()[0].form, "searched");
  EXPECT_EQ(passes.given_up()[0].verdict, "not made: an integer power beyond 32 bits");
  EXPECT_FALSE(passes.given_up()[0].same);
}

TEST_F(Notes, AreEmptyWhereAKernelIsPublished) {
  const Optimised best = optimised({});
  EXPECT_EQ(best.note.empty(), best.outcome == Outcome::published) << best.note;
}

}  // namespace
}  // namespace trident::pipeline
