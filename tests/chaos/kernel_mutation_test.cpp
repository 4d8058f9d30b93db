// Kernels with one instruction changed must be refused by the equivalence check whenever they break the policy. Whether
// they do is decided apart from it, on points that it does not see: under exact by the bits of the interpreter, under
// bounded(2) by two evaluators of tests/support, one over the reals in MPFR and one that rounds every op. A mutant
// inside the policy is no fault, and may pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "jit/equiv/checker.h"
#include "tests/chaos/mutations.h"
#include "tests/support/mpfr_evaluator.h"
#include "tests/support/strict_evaluator.h"

namespace trident {
namespace {

/// A mutant must be refused when it is wrong at this share of the points: the check, which draws 2 * 1024 of its own,
/// would miss all of them with probability 0.99^2048 = 1e-9.
constexpr double kShareThatMustBeSeen = 0.01;
constexpr std::uint64_t kOracleSeed = 999;

struct Tally {
  int mutants = 0, refused = 0, wrong = 0;
  std::string missed;
};

expr::Expr source_of(std::uint64_t seed, bool floats_only = false) {
  testing::RandomExprOptions options;
  options.nodes_max = 10;
  options.outputs_max = 1;
  options.functions = seed % 8 == 0;
  options.ranged = 1;
  if (floats_only) options.integers = options.reductions = false;
  return testing::random_expr(seed, options);
}

double float_lane(expr::Type type, const std::byte* bytes) {
  if (type == expr::Type::f32) {
    float f = 0;
    std::memcpy(&f, bytes, sizeof f);
    return static_cast<double>(f);
  }
  double d = 0;
  std::memcpy(&d, bytes, sizeof d);
  return d;
}

// An oracle's share_wrong() is the share of points at which a mutant is wrong, the greatest over the drawn sets.
class ExactOracle {
 public:
  ExactOracle(const expr::Expr& source, const kir::Kernel& kernel)
      : source_(source), sets_(equiv::make_samples(source, {.points = 8192, .seed = kOracleSeed})) {
    for (const equiv::Samples& s : sets_) wanted_.push_back(equiv::interpret_calls(source, kernel, s, s.calls));
  }
  double share_wrong(const kir::Kernel& mutant) const {
    const expr::Type type = source_.at(source_.outputs[0].node).type;
    const std::size_t bytes = ir::bytes_of(type);
    double greatest = 0;
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      if (sets_[s].name == "corners") continue;
      const equiv::Outputs got = equiv::interpret_calls(source_, mutant, sets_[s], sets_[s].calls);
      std::size_t wrong = 0;
      std::size_t all = 0;
      for (std::size_t c = 0; c < got.size(); ++c)
        for (std::size_t i = 0; i < got[c][0].size(); i += bytes, ++all)
          wrong += differ(type, got[c][0].data() + i, wanted_[s][c][0].data() + i) ? 1 : 0;
      if (all != 0) greatest = std::max(greatest, static_cast<double>(wrong) / static_cast<double>(all));
    }
    return greatest;
  }

 private:
  static bool differ(expr::Type type, const std::byte* a, const std::byte* b) {
    if (std::memcmp(a, b, ir::bytes_of(type)) == 0) return false;
    return !ir::is_float(type) || !std::isnan(float_lane(type, a)) || !std::isnan(float_lane(type, b));
  }
  const expr::Expr& source_;
  std::vector<equiv::Samples> sets_;
  std::vector<equiv::Outputs> wanted_;
};

class BoundedOracle {
 public:
  explicit BoundedOracle(const expr::Expr& source) : source_(source), type_(source.at(source.outputs[0].node).type) {
    for (equiv::Samples& s : equiv::make_samples(source, {.points = 768, .seed = kOracleSeed}))
      if (s.name != "corners") sets_.push_back(evaluated(std::move(s)));
  }
  double share_wrong(const kir::Kernel& mutant) const {
    double greatest = 0;
    for (const Set& set : sets_) {
      const equiv::Outputs got = equiv::interpret_calls(source_, mutant, set.samples, set.samples.calls);
      std::size_t wrong = 0;
      std::size_t i = 0;
      for (const auto& call : got)
        for (std::size_t at = 0; at < call[0].size(); at += ir::bytes_of(type_), ++i)
          wrong += outside(set, i, float_lane(type_, call[0].data() + at)) ? 1 : 0;
      greatest = std::max(greatest, static_cast<double>(wrong) / static_cast<double>(std::max<std::size_t>(i, 1)));
    }
    return greatest;
  }

 private:
  struct Set {
    equiv::Samples samples;
    std::vector<long double> real;
    std::vector<double> strict;
    long double greatest = 0;
    double bound_ulp = 2;
  };

  Set evaluated(equiv::Samples samples) const {
    Set set{std::move(samples), {}, {}, 0, 2};
    for (std::uint64_t i = 0; i < set.samples.n; ++i) {
      std::vector<double> point;
      std::vector<std::vector<std::uint64_t>> lanes;
      for (std::size_t v = 0; v < source_.variables.size(); ++v) {
        const std::size_t bytes = ir::bytes_of(source_.variables[v].type);
        const std::byte* lane = set.samples.columns[v].data() + i * bytes;
        point.push_back(float_lane(source_.variables[v].type, lane));
        std::memcpy(&lanes.emplace_back(1, 0)[0], lane, bytes);
      }
      set.real.push_back(testing::evaluate_real(source_, point, 320, testing::Casts::rounding)[0]);
      const std::uint64_t bits = testing::evaluate_strict(source_, lanes, 1)[source_.outputs[0].node.index][0];
      set.strict.push_back(float_lane(type_, reinterpret_cast<const std::byte*>(&bits)));
      if (measurable(set, i)) set.greatest = std::max(set.greatest, std::fabs(set.real[i]));
    }
    double strict_ulp = 0;
    for (std::size_t i = 0; i < set.real.size(); ++i)
      if (measurable(set, i)) strict_ulp = std::max(strict_ulp, error_ulp(set, i, set.strict[i]));
    set.bound_ulp = 2 * strict_ulp + 2;
    return set;
  }

  // Both values are finite, and not so great that rounding may decide it.
  [[nodiscard]] bool measurable(const Set& set, std::size_t i) const {
    const long double limit = type_ == expr::Type::f32 ? 0x1p127L : 0x1p1023L;
    return std::isfinite(set.strict[i]) && std::fabs(set.real[i]) < limit;  // false for NaN
  }
  [[nodiscard]] double error_ulp(const Set& set, std::size_t i, double value) const {
    const int digits = type_ == expr::Type::f32 ? 24 : 53;
    const int least = type_ == expr::Type::f32 ? -149 : -1074;
    const long double scale = std::max(std::fabs(set.real[i]), 1e-6L * set.greatest);
    const int exponent = scale == 0 ? least : std::max(std::ilogb(scale) - digits + 1, least);
    return static_cast<double>(std::fabs(static_cast<long double>(value) - set.real[i]) / std::ldexp(1.0L, exponent));
  }
  [[nodiscard]] bool outside(const Set& set, std::size_t i, double got) const {
    return measurable(set, i) && (!std::isfinite(got) || error_ulp(set, i, got) > set.bound_ulp);
  }

  const expr::Expr& source_;
  expr::Type type_;
  std::vector<Set> sets_;
};

template <class MakeOracle>
void add_mutants(Tally& tally, const expr::Expr& source, const expr::Policy& policy, std::uint64_t seed,
                 MakeOracle make_oracle) {
  const auto kernel = expr::lower(source, {.policy = policy, .simplify = false});
  ASSERT_TRUE(kernel.ok());
  auto checker = equiv::Checker::make(source, policy, {.samples = {.points = 1024, .seed = seed}});
  ASSERT_TRUE(checker.ok());
  const auto oracle = make_oracle(source, *kernel);
  testing::Random random(seed);
  for (int tries = 0; tries < 12; ++tries) {
    const auto mutant = testing::mutate(*kernel, random);
    if (!mutant) continue;
    ++tally.mutants;
    // The demand on the baseline is the more lenient one.
    auto prepared = (*checker)->check_meaning(mutant->kernel, equiv::Demand::own_steps);
    ASSERT_TRUE(prepared.ok());
    const bool refused = !prepared->meaning.same();
    tally.refused += refused ? 1 : 0;
    const double share = oracle.share_wrong(mutant->kernel);
    if (share < kShareThatMustBeSeen) continue;
    ++tally.wrong;
    if (!refused)
      tally.missed += "seed " + std::to_string(seed) + ": " + mutant->what + ", wrong at " + std::to_string(share) +
                      " of the points\n" + expr::print_infix(source) + equiv::print(prepared->meaning) + "\n";
  }
}

void expect_all_wrong_ones_refused(const Tally& tally) {
  EXPECT_EQ(tally.missed, "");
  EXPECT_GT(tally.wrong, tally.mutants / 4) << "too few to mean anything, of " << tally.mutants;
  ::testing::Test::RecordProperty("mutants", tally.mutants);
  ::testing::Test::RecordProperty("wrong", tally.wrong);
  ::testing::Test::RecordProperty("refused", tally.refused);
  std::printf("%d mutants, %d wrong, %d refused\n", tally.mutants, tally.wrong, tally.refused);
}

TEST(KernelMutation, AnyChangedBitIsRefusedUnderExact) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    add_mutants(tally, source_of(seed), {expr::PolicyKind::exact, 0}, seed,
                [](const auto& source, const auto& kernel) { return ExactOracle(source, kernel); });
  expect_all_wrong_ones_refused(tally);
}

TEST(KernelMutation, WhatBreaksThePolicyIsRefusedUnderBounded) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const expr::Expr source = source_of(seed, true);
    if (!ir::is_float(source.at(source.outputs[0].node).type)) continue;
    add_mutants(tally, source, {expr::PolicyKind::bounded, 2}, seed,
                [](const auto& e, const auto&) { return BoundedOracle(e); });
  }
  expect_all_wrong_ones_refused(tally);
}

// The unchanged kernel of a random expression passes: the check does not cry wolf.
TEST(KernelMutation, UnchangedKernelsPass) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const expr::Expr source = source_of(seed);
    const auto kernel = expr::lower(source, {.policy = {}, .simplify = false});
    ASSERT_TRUE(kernel.ok());
    auto checker = equiv::Checker::make(source, {}, {.samples = {.points = 1024, .seed = seed}});
    ASSERT_TRUE(checker.ok());
    auto prepared = (*checker)->check_meaning(*kernel, equiv::Demand::own_steps);
    ASSERT_TRUE(prepared.ok());
    EXPECT_TRUE(prepared->meaning.same()) << "seed " << seed << "\n"
                                          << expr::print_infix(source) << "\n"
                                          << equiv::print(prepared->meaning);
  }
}

}  // namespace
}  // namespace trident
