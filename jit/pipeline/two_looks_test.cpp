// Searches that are left after their first look and gone on with later. Oracles: the search in one go, clocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "jit/expr/expr.h"
#include "jit/pipeline/pass_scope.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"

namespace trident::pipeline {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

TEST(TwoLooks, CountNoTimeBetweenThem) {
  Options options;
  options.budget.cpu_ns = 20 * kMillisecond;
  const std::function<void(const Progress&)> nobody;
  PassScope passes(options, nobody);
  passes.pause();
  std::this_thread::sleep_for(std::chrono::milliseconds(20 * kWallPerBudget + 50));
  for (const std::uint64_t end = os::thread_cpu_ns() + 30 * kMillisecond; os::thread_cpu_ns() < end;) {
  }
  EXPECT_TRUE(passes.spent()) << "both limits";
  passes.resume();
  EXPECT_FALSE(passes.spent());
  EXPECT_GT(passes.left_ns(), 0u);
  EXPECT_LE(passes.left_ns(), 20 * kMillisecond);
}

/// The forms of a search, but for those of small steps, which follow times.
std::vector<std::string> forms_of(const Optimised& optimised) {
  std::vector<std::string> names;
  for (const CandidateReport& one : optimised.candidates)
    if (one.form != "careful" && std::find(names.begin(), names.end(), one.form) == names.end())
      names.push_back(one.form);
  return names;
}

TEST(TwoLooks, FindOnTwoThreadsWhatASearchInOneGoFinds) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  const auto parsed = expr::parse("sin(x)*cos(x) + x/(1 + x*x)");
  ASSERT_TRUE(parsed.ok());
  int offers = 0;
  Options options;
  options.interim = [&](const Interim& interim) {
    ++offers;
    EXPECT_LT(interim.winner_ns, interim.baseline_ns);
  };
  TwoLooks looks(*parsed, options);
  const auto more = looks.first();
  ASSERT_TRUE(more.ok() && *more);
  EXPECT_GE(offers, 1) << "nothing to use meanwhile";
  EXPECT_TRUE(looks.has_found());
  Result<void> done;
  std::thread([&] { done = looks.second(); }).join();
  ASSERT_TRUE(done.ok());
  const Optimised found = looks.take();
  const auto at_once = optimise(*parsed, options);
  ASSERT_TRUE(at_once.ok());
  EXPECT_EQ(found.outcome, Outcome::published) << found.note;
  EXPECT_TRUE(found.baseline_checked);
  EXPECT_EQ(forms_of(found), forms_of(*at_once));
  EXPECT_EQ(std::count_if(found.times.begin(), found.times.end(), [](const auto& t) { return t.pass == "forms"; }), 1);
}

TEST(TwoLooks, SayWhetherTheFirstHasFoundSomething) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  const auto parsed = expr::parse("x + 1");
  ASSERT_TRUE(parsed.ok());
  int offers = 0;
  Options options;
  options.interim = [&](const Interim&) { ++offers; };
  TwoLooks looks(*parsed, options);
  const auto more = looks.first();
  ASSERT_TRUE(more.ok());
  if (*more) {
    EXPECT_EQ(looks.has_found(), offers > 0);
  }
}

}  // namespace
}  // namespace trident::pipeline
