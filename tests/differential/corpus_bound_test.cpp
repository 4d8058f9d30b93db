// Every kernel of the corpora keeps its own running error with one unit an operation: no op of the kernel as written
// errs by more than its unit, so what fails here is a fault of the bound. Ranges are those declared, and none. A slice;
// `make campaign NAME=bound` takes a million points. Oracle: the definition of the bound.
//
// That campaign leaves out points by a quick screen (jit/equiv/screen.h). Its findings are compared with MPFR's, for
// the kernel's results and for results that are wrong by half a bound. `make campaign NAME=screen` takes 10^4 points.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include "jit/equiv/checker.h"
#include "jit/equiv/integers.h"
#include "jit/equiv/screen.h"
#include "tests/differential/corpus_sources.h"
#include "tests/support/draws.h"

namespace trident::testing {
namespace {

constexpr std::uint64_t kPoints = 512;
/// Instead of the policy's two ulp: only the bound counts.
constexpr double kSlackUlp = 0.001;

void expect_within_bound(const std::string& name, const expr::Expr& source) {
  const expr::Policy policy{expr::PolicyKind::bounded, 1};
  const auto kernel = expr::lower(source, {.policy = policy, .simplify = false});
  ASSERT_TRUE(kernel.ok()) << name;
  for (const equiv::Samples& samples : equiv::make_samples(source, {.points = kPoints, .seed = 9})) {
    auto reference = equiv::Reference::make(source, samples, {}, policy.k);
    ASSERT_TRUE(reference.ok()) << name;
    const equiv::Outputs ours = equiv::interpret_calls(source, *kernel, samples, samples.calls);
    std::vector<equiv::Errors> errors;
    const auto example = equiv::compare_values(source, samples, *reference, ours, policy, errors,
                                               {.refined_max = 256, .allowance = equiv::Allowance{1, kSlackUlp}});
    equiv::Verdict verdict;
    verdict.counterexample = example;
    verdict.kind = equiv::Verdict::Kind::differs;
    EXPECT_FALSE(example.has_value()) << name << ", " << samples.name << ": " << equiv::print(verdict);
  }
}

expr::Expr without_ranges(expr::Expr source) {
  const expr::Variable open;
  for (expr::Variable& variable : source.variables)
    if (ir::is_float(variable.type)) variable.lo = open.lo, variable.hi = open.hi;
  return source;
}

/// Tries one in so many of these kernels without ranges, too: such points take MPFR seven times as long.
constexpr std::size_t kWithoutRanges = 3;

TEST(CorpusBound, SourcesKeepTheirOwn) {
  std::size_t number = 0;
  each_corpus_source(2, [&](const std::string& name, const expr::Expr& source) {
    expect_within_bound(name, source);
    const std::size_t kernel = number++ / 2;  // each comes in f32 and in f64
    if (kernel % kWithoutRanges == 0) expect_within_bound(name + " without ranges", without_ranges(source));
  });
}

// --- the screen ---

constexpr equiv::Allowance kAllowance{1, equiv::kBoundedSlackUlp};

void put(ir::Type type, double value, std::byte* bytes) {
  const auto narrow = static_cast<float>(value);
  if (type == ir::Type::f32) std::memcpy(bytes, &narrow, sizeof narrow);
  if (type == ir::Type::f64) std::memcpy(bytes, &value, sizeof value);
}

/// One set in one call, with MPFR's values.
struct ScreenedSet {
  ScreenedSet(const expr::Expr& source, const equiv::Samples& samples, equiv::Reference& reference,
              equiv::Outputs results)
      : source(source), samples(samples), reference(reference), results(std::move(results)) {}
  const expr::Expr& source;
  const equiv::Samples& samples;
  equiv::Reference& reference;
  equiv::Outputs results;
  std::uint64_t decided = 0, refused = 0, faults = 0;

  [[nodiscard]] std::byte* result(std::size_t output, std::uint64_t point) {
    std::size_t call = 0;
    while (samples.calls[call].first + samples.calls[call].n <= point) ++call;
    const std::size_t bytes = ir::bytes_of(reference.outputs()[output].type);
    return results[call][output].data() + static_cast<std::size_t>(point - samples.calls[call].first) * bytes;
  }
  equiv::Judged judge(std::size_t output, std::uint64_t point) {
    const double got = equiv::load_float(reference.outputs()[output].type, result(output, point));
    constexpr std::size_t kAlways = 1'000'000'000;
    return equiv::Judge(reference, output, kAllowance, kAlways).judge(static_cast<std::size_t>(point), got);
  }

  /// Compares what the screen finds with what MPFR says of the same results.
  void expect_right_findings(const std::string& name) {
    const equiv::Screened screened = equiv::screen(source, samples, results, kAllowance);
    decided += screened.decided;
    for (std::uint64_t i = 0; i < samples.n; ++i) {
      if (screened.findings[i] == 0) continue;
      for (std::size_t k = 0; k < source.outputs.size(); ++k) {
        reference.refine(k, static_cast<std::size_t>(i));
        const equiv::Judged judged = judge(k, i);
        EXPECT_TRUE(judged.holds() || judged.open) << name << ", " << samples.name << ", point " << i;
      }
    }
  }

  /// Puts results one and a half times as far from their values as the bound allows in place of the kernel's.
  void plant_faults() {
    for (std::size_t k = 0; k < source.outputs.size(); ++k)
      for (std::uint64_t i = 0; i < samples.n; ++i) {
        const equiv::OutputValues& values = reference.outputs()[k];
        const long double allowed = equiv::Judge(reference, k, kAllowance, 0).allowed(static_cast<std::size_t>(i));
        const long double fault = values.correct[i] + (i % 2 == 0 ? 1.5L : -1.5L) * allowed;
        if (std::fabs(fault) < equiv::greatest_finite(values.type))
          put(values.type, static_cast<double>(fault), result(k, i));
      }
  }

  /// Expects that the screen finds no result to hold that MPFR refuses.
  void expect_faults_seen(const std::string& name) {
    const equiv::Screened screened = equiv::screen(source, samples, results, kAllowance);
    for (std::uint64_t i = 0; i < samples.n; ++i) {
      bool holds = true;
      for (std::size_t k = 0; k < source.outputs.size(); ++k) holds = holds && judge(k, i).holds();
      faults += 1, refused += holds ? 0 : 1;
      EXPECT_FALSE(!holds && screened.findings[i] != 0) << name << ", " << samples.name << ", point " << i;
    }
  }
};

struct ScreenCounts {
  std::uint64_t points = 0, decided = 0, faults = 0, refused = 0;
};

void compare_screen(const std::string& name, const expr::Expr& source, ScreenCounts& counts) {
  if (!equiv::can_screen(source)) return;
  const auto kernel = expr::lower(source, {.policy = {expr::PolicyKind::bounded, 1}, .simplify = false});
  ASSERT_TRUE(kernel.ok()) << name;
  for (const equiv::Samples& samples : equiv::make_samples(source, {.points = draws(64), .seed = 5})) {
    auto reference = equiv::Reference::make(source, samples, {}, kAllowance.units);
    ASSERT_TRUE(reference.ok()) << name;
    ScreenedSet set(source, samples, *reference, equiv::interpret_calls(source, *kernel, samples, samples.calls));
    set.expect_right_findings(name);
    set.plant_faults();
    set.expect_faults_seen(name);
    counts.points += samples.n, counts.decided += set.decided;
    counts.faults += set.faults, counts.refused += set.refused;
  }
}

TEST(CorpusScreen, FindsWhatMpfrFinds) {
  ScreenCounts counts;
  each_corpus_source(draws(1) > 1 ? 1 : 32, [&](const std::string& name, const expr::Expr& source) {
    compare_screen(name, source, counts);
    compare_screen(name + " without ranges", without_ranges(source), counts);
  });
  std::printf("%llu points, %llu decided by the screen; %llu faults, %llu refused\n",
              static_cast<unsigned long long>(counts.points), static_cast<unsigned long long>(counts.decided),
              static_cast<unsigned long long>(counts.faults), static_cast<unsigned long long>(counts.refused));
  EXPECT_GT(counts.decided, counts.points / 2);
  EXPECT_GT(counts.refused, counts.faults / 2);
}

}  // namespace
}  // namespace trident::testing
