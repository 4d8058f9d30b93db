// Kernels with one instruction changed must be refused by the equivalence check whenever they break the policy. Whether
// they do is decided apart from it, on points that it does not see: under exact by the bits of the interpreter, under
// bounded(2) by two evaluators of tests/support, one over the reals in MPFR and one that rounds every op and is
// perturbed here. A mutant inside the policy is no fault, and may pass.
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

// A result is surely wrong that is far beyond all results of the source with each operation off by two units.
class BoundedOracle {
 public:
  explicit BoundedOracle(const expr::Expr& source) : source_(source), type_(source.at(source.outputs[0].node).type) {
    for (equiv::Samples& s : equiv::make_samples(source, {.points = 512, .seed = kOracleSeed}))
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
  static constexpr int kTries = 24;
  static constexpr long double kFarBeyond = 8;
  struct Set {
    equiv::Samples samples;
    std::vector<long double> real;
    std::vector<long double> spread;  ///< of the perturbed results; infinite where one is not finite
  };

  Set evaluated(equiv::Samples samples) const {
    Set set{std::move(samples), {}, {}};
    testing::Random random(7);
    for (std::uint64_t i = 0; i < set.samples.n; ++i) {
      std::vector<double> point;
      std::vector<std::uint64_t> lanes;
      for (std::size_t v = 0; v < source_.variables.size(); ++v) {
        const std::size_t bytes = ir::bytes_of(source_.variables[v].type);
        const std::byte* lane = set.samples.columns[v].data() + i * bytes;
        point.push_back(float_lane(source_.variables[v].type, lane));
        std::memcpy(&lanes.emplace_back(0), lane, bytes);
      }
      set.real.push_back(testing::evaluate_real(source_, point, 320, testing::Casts::rounding)[0]);
      set.spread.push_back(spread_at(lanes, random));
    }
    return set;
  }

  long double spread_at(const std::vector<std::uint64_t>& inputs, testing::Random& random) const {
    const double strict = evaluate(inputs, nullptr);
    long double spread = 0;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const long double apart = std::fabs(static_cast<long double>(evaluate(inputs, &random)) - strict);
      if (!std::isfinite(apart)) return std::numeric_limits<long double>::infinity();
      spread = std::max(spread, apart);
    }
    return spread;
  }

  // Evaluates output 0 op by op; with `random` every op that rounds is off by two units, up or down.
  double evaluate(const std::vector<std::uint64_t>& inputs, testing::Random* random) const {
    std::vector<std::uint64_t> values;
    for (const expr::Node& node : source_.nodes) {
      const auto at = [&](expr::NodeId id) { return id.valid() ? values[id.index] : 0; };
      if (node.op == expr::Op::Constant || node.op == expr::Op::Variable) {
        values.push_back(node.op == expr::Op::Constant ? node.imm : inputs[node.imm]);
        continue;
      }
      std::uint64_t bits = testing::evaluate_op(source_, node, at(node.a), at(node.b), at(node.c));
      const bool rounds = expr::info(node.op).signature == expr::Signature::Same &&
                          expr::info(node.op).rounding != expr::Rounding::exact;
      if (random != nullptr && rounds && ir::is_float(node.type))
        bits = moved(node, bits, at(node.a), at(node.b), *random);
      values.push_back(bits);
    }
    return number(type_, values[source_.outputs[0].node.index]);
  }

  static double number(expr::Type type, std::uint64_t bits) {
    return float_lane(type, reinterpret_cast<const std::byte*>(&bits));
  }

  static std::uint64_t moved(const expr::Node& node, std::uint64_t bits, std::uint64_t a, std::uint64_t b,
                             testing::Random& random) {
    const double u = node.type == expr::Type::f32 ? 0x1p-24 : 0x1p-53;
    const double value = number(node.type, bits);
    const bool sum = node.op == expr::Op::Add || node.op == expr::Op::Sub;
    const double products =
        node.op == expr::Op::Powi ? std::fabs(static_cast<double>(static_cast<std::int64_t>(node.imm))) : 2;
    const double size =
        sum ? std::fabs(number(node.type, a)) + std::fabs(number(node.type, b)) : products * std::fabs(value);
    const double other = value + (random.next() % 2 == 0 ? 2 : -2) * u * size;
    std::uint64_t result = 0;
    const auto narrow = static_cast<float>(other);
    if (node.type == expr::Type::f32)
      std::memcpy(&result, &narrow, sizeof narrow);
    else
      std::memcpy(&result, &other, sizeof other);
    return result;
  }

  [[nodiscard]] bool outside(const Set& set, std::size_t i, double got) const {
    const long double limit = type_ == expr::Type::f32 ? 0x1p126L : 0x1p1022L;
    if (!(std::fabs(set.real[i]) + set.spread[i] < limit)) return false;
    const int digits = type_ == expr::Type::f32 ? 24 : 53, least = type_ == expr::Type::f32 ? -149 : -1074;
    const int exponent = set.real[i] == 0 ? least : std::max(std::ilogb(set.real[i]) - digits + 1, least);
    const long double allowed = kFarBeyond * set.spread[i] + std::ldexp(4.0L, exponent);
    return !(std::fabs(static_cast<long double>(got) - set.real[i]) <= allowed);
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
    auto prepared = (*checker)->check_meaning(mutant->kernel, equiv::Demand::policy);
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
    auto prepared = (*checker)->check_meaning(*kernel, equiv::Demand::policy);
    ASSERT_TRUE(prepared.ok());
    EXPECT_TRUE(prepared->meaning.same()) << "seed " << seed << "\n"
                                          << expr::print_infix(source) << "\n"
                                          << equiv::print(prepared->meaning);
  }
}

}  // namespace
}  // namespace trident
