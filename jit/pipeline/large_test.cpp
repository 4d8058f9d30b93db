// Searches of large expressions: they end by the clock, with what is best until then. Oracles: the checker at points of
// another seed, clocks.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "jit/equiv/checker.h"
#include "jit/pipeline/deadline.h"
#include "jit/pipeline/execution.h"
#include "jit/pipeline/pass_scope.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/cpu.h"
#include "runtime/os/sandbox.h"

namespace trident::pipeline {
namespace {

using expr::Type;

constexpr std::uint64_t kMs = 1'000'000;

void work(std::uint64_t ns) {
  for (const std::uint64_t end = os::thread_cpu_ns() + ns; os::thread_cpu_ns() < end;) {
  }
}

/// All variables lie in [-1, 1].
expr::Expr large_one(const std::string& text, Type type) {
  expr::ParseOptions options;
  options.type = type;
  auto e = expr::parse_infix(text, options);
  if (!e.ok()) ADD_FAILURE() << e.error().message;
  CHECK(e.ok());
  for (expr::Variable& v : e->variables) v.lo = -1, v.hi = 1;
  return std::move(e).value();
}

/// Each variable with each one before it.
std::string sum_of_products(int count) {
  std::string text;
  for (int i = 1, made = 0; made < count; ++i)
    for (int k = 0; k < i && made < count; ++k, ++made)
      text += (made > 0 ? " + x" : "x") + std::to_string(k) + "*x" + std::to_string(i);
  return text;
}

std::string fourier_sum(int terms) {
  std::string text;
  for (int i = 1; i <= terms; ++i)
    text += (i > 1 ? " + 0." : "0.") + std::to_string(7 * i % 91 + 1) + (i % 2 == 0 ? "*sin(" : "*cos(") +
            std::to_string(i) + "*x)";
  return text;
}

std::string product_of_factors(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i)
    text += std::string(i > 1 ? "*" : "") + "(1 + 0.00" + std::to_string(i % 9 + 1) + "*x - 0.00" +
            std::to_string(5 * i % 8 + 1) + "*y)";
  return text;
}

struct Large {
  std::string name, text;
  Type type;
};

void expect_right(const expr::Expr& source, const Compiled& winner) {
  auto checker = equiv::Checker::make(source, {}, {.samples = {.points = 512, .seed = 77}});
  ASSERT_TRUE(checker.ok());
  auto prepared = (*checker)->check_meaning(winner.kernel, equiv::Demand::drawn);
  ASSERT_TRUE(prepared.ok());
  EXPECT_TRUE(prepared->meaning.same()) << equiv::print(prepared->meaning);
  auto fd = image::seal(winner.image);
  ASSERT_TRUE(fd.ok());
  auto mapped = image::Mapped::map(*fd);
  ASSERT_TRUE(mapped.ok());
  const judge::Signature signature = judge::signature_of(winner.kernel);
  auto verdict = (*checker)->check_code(*prepared, execute_in_sandbox(source, signature, *mapped), equiv::Effort::full);
  ASSERT_TRUE(verdict.ok());
  EXPECT_TRUE(verdict->same()) << equiv::print(*verdict);
}

/// Returns whether code of a form that is not the source as written was checked and timed.
bool timed_rewritten(const Optimised& optimised) {
  return std::any_of(optimised.candidates.begin(), optimised.candidates.end(),
                     [](const CandidateReport& one) { return one.form != "source" && one.same && one.ratio > 0; });
}

// Sums of products wait for memory: what does less arithmetic need not be faster.
TEST(Large, SumsAndProductsOfHundredsEndOptimised) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  const codegen::Isa isa = os::cpu_features().avx512 ? codegen::Isa::avx512 : codegen::Isa::avx2;
  const Large kLarge[] = {{"800 products", sum_of_products(800), Type::f64},
                          {"1,300 products", sum_of_products(1300), Type::f32},
                          {"60 terms of a Fourier sum", fourier_sum(60), Type::f64},
                          {"200 factors", product_of_factors(200), Type::f32}};
  for (const Large& large : kLarge) {
    SCOPED_TRACE(large.name);
    const expr::Expr source = large_one(large.text, large.type);
    int offers = 0;
    Options options{.target = {.isa = isa}, .budget = {.cpu_ns = 8 * kDefaultBudgetNs}};  // however slow it is here
    options.interim = [&](const Interim& interim) {
      ++offers;
      EXPECT_LT(interim.winner_ns, interim.baseline_ns);
    };
    const auto optimised = optimise(source, options);
    ASSERT_TRUE(optimised.ok()) << optimised.error().message;
    EXPECT_TRUE(timed_rewritten(*optimised)) << optimised->note;
    const bool published = optimised->outcome == Outcome::published;
    EXPECT_TRUE(published || optimised->outcome == Outcome::no_gain) << optimised->note;
    if (!published) continue;  // nothing was faster
    EXPECT_GT(offers, 0) << "nothing was in use before the search ended";
    expect_right(source, optimised->winner);
  }
}

/// Returns whether the search ended before its last passes, which come after the first offer.
bool was_late(const Optimised& optimised) {
  return std::none_of(optimised.times.begin(), optimised.times.end(),
                      [](const PassTime& time) { return time.pass == "refine"; });
}

// An offered kernel is in use: a search that ends behind it ends with it.
TEST(Large, WhatWasOfferedIsTheWinnerWhenTheSearchEndsThen) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  constexpr std::uint64_t kBudgetNs = 2'000 * kMs;
  const expr::Expr source = large_one(product_of_factors(60), Type::f32);
  std::vector<std::byte> offered;
  Options options{.target = {.isa = codegen::Isa::avx2}, .budget = {.cpu_ns = kBudgetNs}};
  options.interim = [&](const Interim& interim) {
    if (offered.empty()) work(kBudgetNs);
    offered = interim.image.bytes;
  };
  const auto optimised = optimise(source, options);
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  ASSERT_FALSE(offered.empty());
  EXPECT_EQ(optimised->outcome, Outcome::published) << optimised->note;
  EXPECT_TRUE(optimised->winner.image.bytes == offered);
  EXPECT_TRUE(was_late(*optimised)) << "the search had time for all";
}

/// Each sine amplifies the errors of those below, so that most points need many digits.
std::string nested_sines(int count) {
  std::string text = "x";
  for (int i = 0; i < count; ++i) text = "0.3 + y*sin(" + text + ")";
  return text;
}

// Where the check of the source alone takes most of the time, it comes to an end all the same.
/// The processor time until the source's own form is checked; 0 if that was not seen.
std::uint64_t time_to_check(const expr::Expr& source, Options options) {
  std::atomic<bool> enough{false};
  std::uint64_t checked_ns = 0;
  const std::uint64_t began_ns = os::thread_work_ns();
  options.budget = {.cpu_ns = 8 * kDefaultBudgetNs, .cancelled = &enough};
  const auto optimised = optimise(source, options, [&](const Progress& progress) {
    if (progress.stage == Stage::lower && progress.done == 1 && !enough)
      checked_ns = os::thread_work_ns() - began_ns, enough = true;
  });
  EXPECT_TRUE(optimised.ok());
  return checked_ns;
}

// Two processor times are compared, and beside other work one may be half as long again as the other: three attempts.
TEST(Large, TheCheckOfTheSourceMayTakeWhatOtherFormsWouldGet) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  auto source = expr::parse_infix(nested_sines(110), {.type = Type::f32, .variables = {}});
  ASSERT_TRUE(source.ok());
  Options options{.target = {.isa = codegen::Isa::avx2}};
  std::string note;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::uint64_t checked_ns = time_to_check(*source, options);
    ASSERT_NE(checked_ns, 0u);
    options.budget = {.cpu_ns = checked_ns / 20 * 29};  // a share of 0.6 would end before
    const auto optimised = optimise(*source, options);
    ASSERT_TRUE(optimised.ok());
    if (optimised->baseline_checked) return;
    note = optimised->note;
  }
  FAIL() << note;
}

TEST(Large, SpeculationHasTheRestOfTheProcessorTime) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  const expr::Expr source = large_one(product_of_factors(60), Type::f32);
  bool offered = false;
  Options options{.target = {.isa = codegen::Isa::avx2, .assumed = {{-0.5, 0.5}, {-0.5, 0.5}}},
                  .budget = {.cpu_ns = 10'000 * kMs}};
  options.interim = [&](const Interim&) {
    if (!offered) work(kLargeClockNs);
    offered = true;
  };
  const auto optimised = optimise(source, options);
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  if (!offered) return;  // nothing was faster
  EXPECT_TRUE(was_late(*optimised)) << "the search had time for all";
  ASSERT_TRUE(optimised->speculation.has_value());
  EXPECT_EQ(optimised->speculation->refused.find("has used up the limit"), std::string::npos)
      << optimised->speculation->refused;
}

TEST(Deadline, IsByTheClockWhereAProcessorWasGiven) {
  Deadline deadline({.work_ns = 10'000 * kMs, .clock_ns = 60 * kMs, .least_ns = 30 * kMs});
  std::this_thread::sleep_for(std::chrono::milliseconds(70));
  EXPECT_FALSE(deadline.reached()) << "the machine has given no time";
  EXPECT_LE(deadline.left().ns(), 30 * kMs);
  work(31 * kMs);
  EXPECT_TRUE(deadline.reached());
  EXPECT_TRUE(deadline.out_of_clock());
  EXPECT_EQ(deadline.left().ns(), 0u);
}

TEST(Deadline, IsByProcessorTimeToo) {
  Deadline deadline({.work_ns = 20 * kMs});
  EXPECT_FALSE(deadline.reached());
  work(21 * kMs);
  EXPECT_TRUE(deadline.reached());
  EXPECT_FALSE(deadline.out_of_clock());
  EXPECT_FALSE(Deadline().reached());
}

TEST(Deadline, PartsOfWhatIsLeft) {
  const Left left{.work_ns = 1000, .clock_ns = 500, .least_ns = 200};
  EXPECT_EQ(left.ns(), 500u);
  EXPECT_EQ((Left{.work_ns = 1000, .clock_ns = 100, .least_ns = 200}).ns(), 200u) << "the machine was busy";
  EXPECT_EQ(left.share(0.5).work_ns, 500u);
  EXPECT_EQ(left.share(0.5).clock_ns, 250u);
  EXPECT_EQ(left.without(300).clock_ns, 200u);
  EXPECT_EQ(left.without(300).least_ns, 0u);
  EXPECT_EQ(Left{}.share(0.5).clock_ns, UINT64_MAX);
  EXPECT_EQ(Left{}.without(300).clock_ns, UINT64_MAX);
}

TEST(PassScope, StopsTheClockOfLargeExpressionsToo) {
  const Options options;
  const std::function<void(const Progress&)> nobody;
  PassScope passes(options, nobody);
  passes.limit_clock(200 * kMs);
  passes.pause();
  work(190 * kMs);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(passes.spent());
  EXPECT_EQ(passes.why_ended().find("the limit of 0.2 s was reached"), 0u) << passes.why_ended();
  passes.resume();
  EXPECT_FALSE(passes.spent());
  EXPECT_LE(passes.left_ns(), 200 * kMs);
}

TEST(PassScope, LimitsGrowAndTheClockIsTakenBack) {
  const Options options{.budget = {.cpu_ns = 1'000 * kMs}};
  const std::function<void(const Progress&)> nobody;
  PassScope passes(options, nobody);
  passes.extend(500 * kMs, 500 * kMs);
  EXPECT_GT(passes.left().work_ns, 1'000 * kMs);
  EXPECT_EQ(passes.left().clock_ns, UINT64_MAX) << "no clock ends it";
  passes.limit_clock(60'000 * kMs);
  passes.extend(0, 60'000 * kMs);
  EXPECT_GT(passes.left().clock_ns, 60'000 * kMs);
  EXPECT_LE(passes.left().clock_ns, 120'000 * kMs);
  passes.shorten_clock(60'000 * kMs);
  EXPECT_LE(passes.left().clock_ns, 60'000 * kMs);
  work(1'600 * kMs);
  EXPECT_TRUE(passes.spent());
  EXPECT_EQ(passes.why_ended().find("the limit of 1.5 s of processor time was reached"), 0u) << passes.why_ended();
}

TEST(PassScope, TwoThreadsUseHalfAsMuchAgainBeforeTheClockEndsThem) {
  const Options options;
  const std::function<void(const Progress&)> nobody;
  PassScope passes(options, nobody);
  passes.limit_clock(100 * kMs, true);
  work(110 * kMs);
  EXPECT_FALSE(passes.spent());
  work(40 * kMs);
  EXPECT_TRUE(passes.spent());
}

}  // namespace
}  // namespace trident::pipeline
