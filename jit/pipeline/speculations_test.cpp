// When a search speculates, and which kernel it ends with. Oracles: the order of its passes and offers; outcomes that
// are made here, whose kernels a right end must hold on to or give up.
#include "jit/pipeline/speculations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "runtime/os/cpu.h"

namespace trident::pipeline {
namespace {

expr::Expr nested() {
  auto e = expr::parse_infix("sin(3*sin(x) + cos(y))", {.type = ir::Type::f32, .variables = {}});
  CHECK(e.ok());
  return std::move(e).value();
}

Options assuming() {
  Options options;
  options.target = {.isa = os::cpu_features().avx512 ? codegen::Isa::avx512 : codegen::Isa::avx2,
                    .policy = {.kind = expr::PolicyKind::bounded},
                    .assumed = {{-4, 4}, {-4, 4}}};
  return options;
}

TEST(Speculations, AreOfferedBeforeSmallStepsOfTheGeneralKernel) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  std::vector<std::string> events;
  std::vector<std::byte> guarded;
  Options options = assuming();
  options.trace.dump = [&](std::string_view pass, std::string_view) { events.emplace_back(pass); };
  options.interim = [&](const Interim& interim) {
    events.emplace_back(interim.guarded ? "guarded" : "general");
    if (interim.guarded) guarded = interim.image.bytes;
  };
  const auto result = optimise(nested(), options);
  ASSERT_TRUE(result.ok() && result->speculation.has_value());
  const auto at = [&](const char* name) { return std::find(events.begin(), events.end(), name); };
  if (!result->speculation->published) {
    EXPECT_EQ(at("guarded"), events.end());
    GTEST_SKIP() << "no guarded kernel was published; the machine may be busy: " << result->speculation->refused;
  }
  EXPECT_LT(at("judge"), at("guarded"));
  EXPECT_LT(at("guarded"), at("refine"));
  EXPECT_EQ(result->winner.image.header().version, TRIDENT_SPECULATIVE_IMAGE_VERSION);
  const auto joins = std::count_if(result->times.begin(), result->times.end(),
                                   [](const PassTime& time) { return time.pass == "guarded judge"; });
  EXPECT_EQ(result->winner.image.bytes == guarded, joins == 1);
}

/// Returns the outcome of a search that has found the source's own code alone.
Optimised general_of(const expr::Expr& e, const Options& options) {
  auto compiled = compile_baseline(e, options);
  CHECK(compiled.ok());
  Optimised general;
  general.outcome = Outcome::no_gain;
  general.baseline_checked = true;
  general.baseline_ns = general.winner_ns = 100'000;
  general.winner = std::move(*compiled);
  return general;
}

TEST(Speculations, EndWithTheKernelThatIsRightAndBest) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  constexpr std::uint64_t kLeftNs = 10'000'000'000;
  const expr::Expr e = nested();
  const Options options = assuming();
  const Optimised general = general_of(e, options);
  std::optional<Speculations> begun;
  bool won = false;
  for (int attempt = 0; attempt < 3 && !won; ++attempt) won = begun.emplace(options).begin(e, general, kLeftNs);
  if (!won) GTEST_SKIP() << "no guarded kernel was measured faster in three attempts; the machine may be busy";

  // A wrong baseline revokes whatever was made beside it.
  Optimised wrong = general;
  wrong.outcome = Outcome::not_equivalent;
  Speculations(*begun).end(e, wrong, kLeftNs);
  EXPECT_EQ(wrong.outcome, Outcome::not_equivalent);
  EXPECT_FALSE(wrong.speculation && wrong.speculation->published);

  // Small steps have found nothing.
  Optimised same = general;
  Speculations(*begun).end(e, same, kLeftNs);
  EXPECT_EQ(same.outcome, Outcome::published);
  EXPECT_EQ(same.winner.image.header().version, TRIDENT_SPECULATIVE_IMAGE_VERSION);
  EXPECT_LT(same.winner_ns, general.winner_ns);
  EXPECT_EQ(same.speculation->general.bytes, general.winner.image.bytes);

  // The general kernel is said to have become so fast that no guarded one can be better.
  Optimised faster = general;
  faster.outcome = Outcome::published;
  faster.winner_ns = 0.001 * general.winner_ns;
  Speculations(*begun).end(e, faster, kLeftNs);
  EXPECT_EQ(faster.outcome, Outcome::published);
  EXPECT_LE(faster.winner_ns, 0.001 * general.winner_ns);
  EXPECT_EQ(faster.speculation->general.bytes, general.winner.image.bytes);
}

TEST(Speculations, AreMadeWhereTheSearchHasMeasuredNoRival) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  const expr::Expr e = nested();
  const Options options = assuming();
  for (const bool is_checked : {false, true}) {
    Optimised late;
    late.outcome = Outcome::budget_spent;
    late.baseline_checked = is_checked;
    Speculations(options).end(e, late, 10'000'000'000);
    EXPECT_EQ(late.speculation.has_value(), is_checked);
  }
}

TEST(Speculations, AskOnceForRanges) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  const expr::Expr e = nested();
  Options options = assuming();
  options.target.assumed.clear();
  int asked = 0;
  options.observe = [&] { return ++asked, std::vector<kir::Assumed>(); };
  Optimised general = general_of(e, options);
  Speculations waiting(options);
  EXPECT_FALSE(waiting.begin(e, general, 1'000'000));
  waiting.end(e, general, 1'000'000);
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(general.speculation.has_value());
}

}  // namespace
}  // namespace trident::pipeline
