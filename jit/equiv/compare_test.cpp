// The policies as arithmetic. Oracle: their definitions, at points whose exact value and running error follow by hand.
#include "jit/equiv/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace trident::equiv {
namespace {

using expr::PolicyKind;

constexpr double kOdd = 134'217'727;  // 2^27 - 1: its square has 54 bits, the last of them one
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::byte> column(const std::vector<double>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

struct Judged {
  bool passes = false;
  Errors errors;
};

/// `candidate` for the text's first output at the points.
Judged judge(const std::vector<double>& x, const std::vector<double>& y, const std::vector<double>& candidate,
             const expr::Policy& policy, const char* text = "x * y", const Comparing& comparing = {}) {
  const auto e = expr::parse_infix(text);
  EXPECT_TRUE(e.ok());
  Samples samples;
  samples.n = x.size();
  samples.columns = {column(x), column(y)};
  samples.columns.resize(e->variables.size());
  samples.calls = {{0, samples.n, false}};
  auto reference = Reference::make(*e, samples, {}, allowance_of(policy).units);
  EXPECT_TRUE(reference.ok());
  std::vector<Errors> errors;
  const auto difference = compare_values(*e, samples, *reference, {{column(candidate)}}, policy, errors, comparing);
  return {!difference.has_value(), errors[0]};
}
bool passes(double x, double y, double candidate, double k, const char* text) {
  return judge({x}, {y}, {candidate}, {PolicyKind::bounded, k}, text).passes;
}

/// Returns the product of kOdd with itself, rounded away from the exact value by `doubles` more than half an ulp.
double off_by(int doubles) {
  const double product = kOdd * kOdd;
  // The tie is rounded to even: the last bit lost says on which side the exact value lies.
  const bool rounded_up = std::fma(kOdd, kOdd, -product) < 0;
  double value = product;
  for (int i = 0; i < doubles; ++i) value = std::nextafter(value, rounded_up ? HUGE_VAL : 0);
  return value;
}

// The product is just below a power of two, so a unit of it is a little less than an ulp.
TEST(Policy, BoundedAllowsKUnitsAndTwoUlp) {
  ASSERT_EQ(0.5, std::fabs(std::fma(kOdd, kOdd, -kOdd * kOdd)) / 2);  // neighbours are 2 apart there
  struct Row {
    double k;
    int most;  // doubles: k + 2 - 0.5, rounded down
  };
  for (const Row row : {Row{1, 2}, Row{2, 3}, Row{3, 4}, Row{4, 5}, Row{5, 6}}) {
    const expr::Policy policy{PolicyKind::bounded, row.k};
    for (int doubles = 0; doubles <= 8; ++doubles) {
      const Judged judged = judge({kOdd}, {kOdd}, {off_by(doubles)}, policy);
      EXPECT_EQ(doubles <= row.most, judged.passes) << "k " << row.k << ", " << doubles + 0.5 << " ulp";
      EXPECT_DOUBLE_EQ(doubles + 0.5, judged.errors.ulp);
      EXPECT_NEAR((doubles + 0.5) / (row.k + 2), judged.errors.share, 1e-6);
    }
  }
}

TEST(Policy, FastAllowsSixteenUnitsAndSixtyFour) {
  const expr::Policy policy{PolicyKind::fast, 2};
  EXPECT_TRUE(judge({kOdd}, {kOdd}, {off_by(79)}, policy).passes);   // 79.5 of 80
  EXPECT_FALSE(judge({kOdd}, {kOdd}, {off_by(80)}, policy).passes);  // 80.5
}

// Each point has its own bound, whatever values stand beside it.
TEST(Policy, SmallValuesKeepTheirDigits) {
  const expr::Policy policy{PolicyKind::bounded, 2};
  for (int ulps = 0; ulps <= 6; ++ulps) {
    double small = 1e-9;
    for (int i = 0; i < ulps; ++i) small = std::nextafter(small, 1);
    EXPECT_EQ(ulps <= 3, judge({1.5e6, 1e-9}, {1, 1}, {1.5e6, small}, policy).passes) << ulps;
  }
  EXPECT_FALSE(judge({1e300, 1e-9}, {1, 1}, {1e300, 0}, policy).passes);
}

// 1e16 + 2 - 1e16: a unit of the sum is 1.11, and of the difference, of whose result not a digit would be left, 2.22.
TEST(Policy, TheUnitOfASumIsThatOfItsTerms) {
  for (const double candidate : {0.0, 2.0, 4.0, 5.3}) EXPECT_TRUE(passes(1e16, 2, candidate, 1, "(x + y) - x"));
  for (const double candidate : {5.4, -1.4, 1e16, kNan}) EXPECT_FALSE(passes(1e16, 2, candidate, 1, "(x + y) - x"));
  EXPECT_TRUE(passes(1e16, 2, 8.6, 2, "(x + y) - x"));
  EXPECT_FALSE(passes(1e16, 2, 8.7, 2, "(x + y) - x"));
}

// 1.1 * 1.3 * 1.7 = 2.431, where an ulp is 4.4e-16: six units are 1.62e-15, and two ulp 0.89e-15.
TEST(Policy, AProductHasAUnitForEachFactor) {
  const std::vector<double> x = {1.1, 1.3, 1.7};
  const auto passes = [&](double off) {
    return judge(x, x, {2.431 + off}, {PolicyKind::bounded, 2}, "prod(x)").passes;
  };
  for (const double off : {0.0, 1.8e-15, -1.8e-15}) EXPECT_TRUE(passes(off)) << off;
  for (const double off : {3.5e-15, -3.5e-15, 1.0, static_cast<double>(HUGE_VAL)}) EXPECT_FALSE(passes(off)) << off;
}

// The example of undeclared ranges: a form with reciprocals gives 0 here.
TEST(Policy, OverflowAndUnderflowOfAFormAreSeen) {
  const char* text = "x*y / (x + y)";
  EXPECT_TRUE(passes(1e300, 1.5e-154, 1.5e-154, 2, text));
  EXPECT_FALSE(passes(1e300, 1.5e-154, 0, 2, text));
  EXPECT_FALSE(passes(1e300, 1.5e-154, 1.6e-154, 2, text));
}

// x / (x x) is 0 by overflow where 1e-200 is right: a form may give either, and nothing else.
TEST(Policy, WhatOverflowsOnTheWayMayBeTheSourcesOrRight) {
  for (const double candidate : {0.0, 1e-200}) EXPECT_TRUE(passes(1e200, 0, candidate, 2, "x / (x*x) + y"));
  for (const double candidate : {1e-201, 1e-100, -1e-200, kNan, HUGE_VAL})
    EXPECT_FALSE(passes(1e200, 0, candidate, 2, "x / (x*x) + y")) << candidate;
}

// -(y y) is an infinity, whose power is one too, and the quotient 0; the correct power is no number. Other functions
// may round the rest otherwise.
TEST(Policy, WhatOverflowsOnTheWayMayBeTheSourcesWhereNothingIsRight) {
  const char* text = "x / pow(-(y*y), 1.5) + 1/3";
  for (const double candidate : {1.0 / 3, std::nextafter(1.0 / 3, 0), std::nextafter(1.0 / 3, 1)})
    EXPECT_TRUE(passes(1, 1e200, candidate, 2, text)) << candidate;
  for (const double candidate : {1.0 / 3 + 1e-15, 0.0, 1.0, -1.0 / 3, static_cast<double>(HUGE_VAL)})
    EXPECT_FALSE(passes(1, 1e200, candidate, 2, text)) << candidate;
}

// exp(x) is infinite, and 1 - exp(y) is 0 or -2^-52 as exp is rounded.
TEST(Policy, RoundingDecidesWhichOfNoNumbersComesOut) {
  const char* text = "-exp(x)*(1 - exp(y))";
  for (const double y : {0x1p-53, 0x1.8p-53})
    for (const double candidate : {static_cast<double>(HUGE_VAL), kNan})
      EXPECT_TRUE(passes(1e20, y, candidate, 2, text)) << candidate << " at " << y;
  EXPECT_FALSE(passes(1e20, 1, kNan, 2, text));  // far from 0
}

// exp(x) is infinite, and a last bit of acos decides the sign of the rest.
TEST(Policy, AFunctionDecidesTheSignOfAnInfinity) {
  const char* text = "exp(x)*(y - acos(0))";
  for (const double candidate : {HUGE_VAL, -HUGE_VAL}) EXPECT_TRUE(passes(1000, std::acos(0.0), candidate, 2, text));
  EXPECT_TRUE(passes(1000, 2, HUGE_VAL, 2, text));
  EXPECT_FALSE(passes(1000, 2, -HUGE_VAL, 2, text));
}

// The power is 10^2e7, beyond any float: the text gives 1 - inf^-1e-30 = 1, and exp(-2e-30 ln(10)) - 1 is right.
TEST(Policy, WhatIsBeyondTheReferencesNumbersOverflows) {
  const char* text = "1 - pow(1 + pow(x, y), -1e-30)";
  for (const double candidate : {1.0, 1e7 * std::log(100) * 1e-30}) EXPECT_TRUE(passes(0.01, -1e7, candidate, 2, text));
  for (const double candidate : {static_cast<double>(kNan), HUGE_VAL})
    EXPECT_FALSE(passes(0.01, -1e7, candidate, 2, text)) << candidate;
}

// Every operation is rounded correctly, so that all evaluations as written meet the pole: no form may miss it.
TEST(Policy, APoleOfCorrectlyRoundedOperationsIsNoMatterOfRounding) {
  EXPECT_TRUE(passes(1.1, 1.1, HUGE_VAL, 2, "1/(x - y)"));
  for (const double candidate : {4e15, 0.0, kNan, -HUGE_VAL}) EXPECT_FALSE(passes(1.1, 1.1, candidate, 2, "1/(x - y)"));
}

// Where zeros of both signs meet, max gives either, and the quotient has its sign.
TEST(Policy, AZeroOfEitherSignMayBeDividedBy) {
  for (const double candidate : {HUGE_VAL, -HUGE_VAL}) EXPECT_TRUE(passes(0.0, -0.0, candidate, 2, "1/max(x, y)"));
  for (const double candidate : {0.0, 4e15, kNan}) EXPECT_FALSE(passes(0.0, -0.0, candidate, 2, "1/max(x, y)"));
  for (const double candidate : {HUGE_VAL, 0.0}) EXPECT_TRUE(passes(0.0, -0.0, candidate, 2, "exp(1/max(x, y))"));
  for (const double candidate : {HUGE_VAL, kNan}) EXPECT_TRUE(passes(0.0, -0.0, candidate, 2, "1/max(x, y) + 1/x"));
  EXPECT_FALSE(passes(0.0, 0.0, -HUGE_VAL, 2, "1/max(x, y)"));
}

// A last bit of log decides between exp(-1e16) and exp(1e16).
TEST(Policy, AFunctionDecidesBetweenZeroAndInfinity) {
  const char* text = "exp(1/(log(x) - y))";
  for (const double candidate : {0.0, HUGE_VAL}) EXPECT_TRUE(passes(2, std::log(2.0), candidate, 2, text)) << candidate;
  EXPECT_TRUE(passes(2, 0.692147, HUGE_VAL, 2, text));
  EXPECT_FALSE(passes(2, 0.692147, 0, 2, text));
}

// 1 + y lies a quarter of an ulp below 1.5.
TEST(Policy, EitherSideOfAStepIsRight) {
  const double y = 0.5 - 0x1p-54;
  const char* text = "x + y < 1.5 ? 3 : 4";
  const Judged three = judge({1}, {y}, {3}, {PolicyKind::bounded, 1}, text);
  EXPECT_TRUE(three.passes);
  EXPECT_EQ(three.errors.tally.either_side, 1u);
  EXPECT_TRUE(passes(1, y, 4, 1, text));
  for (const double candidate : {1.9, 5.1, kNan}) EXPECT_FALSE(passes(1, y, candidate, 1, text)) << candidate;
  // Far from the step one side alone is.
  EXPECT_TRUE(passes(1, 0.25, 3, 1, text));
  EXPECT_FALSE(passes(1, 0.25, 4, 1, text));
  EXPECT_EQ(judge({1}, {0.25}, {3}, {PolicyKind::bounded, 1}, text).errors.tally.either_side, 0u);
  // A step on exact operands is decided.
  EXPECT_TRUE(passes(1.5, 0, 4, 1, "x < 1.5 ? 3 : 4 + y*0"));
  EXPECT_FALSE(passes(1.5, 0, 3, 1, "x < 1.5 ? 3 : 4 + y*0"));
  EXPECT_FALSE(passes(98, 49, 1, 2, "floor(x / y)"));
}

// The bound of 1 / z with z = 2 +- 3.3 is infinite: then the class is all that is promised, and the point says little.
TEST(Policy, WithoutABoundTheClassCounts) {
  const char* text = "1 / ((x + y) - x)";
  const Judged far = judge({1e16}, {2}, {7}, {PolicyKind::bounded, 1}, text);
  EXPECT_TRUE(far.passes);
  EXPECT_EQ(far.errors.tally.open, 1u);
  EXPECT_EQ(judge({1e16}, {2}, {0.5}, {PolicyKind::bounded, 1}, text).errors.tally.open, 0u);
  for (const double candidate : {HUGE_VAL, kNan}) EXPECT_FALSE(passes(1e16, 2, candidate, 1, text)) << candidate;
}

// x*x - y*y = 0 may be negative by rounding in other forms: their root is NaN, or a number far from 0.
TEST(Policy, ANumberAtTheEndOfADomainStaysOne) {
  const char* text = "sqrt(x*x - y*y)";
  EXPECT_TRUE(passes(1.1, 1.1, 0, 2, text));
  EXPECT_TRUE(passes(1.1, 1.1, 1e-8, 2, text));  // the root of a few units of 1.21
  for (const double candidate : {1e-7, 1.0, -1e-7, kNan, HUGE_VAL}) EXPECT_FALSE(passes(1.1, 1.1, candidate, 2, text));
  // Where NaN may be ignored on the way, either result is open.
  const char* hidden = "min(sqrt(x*x - y*y) + 5, 9)";
  const double below = std::nextafter(1.1, 0);
  EXPECT_TRUE(passes(1.1, below, 5 + 2e-8, 2, hidden));
  EXPECT_FALSE(passes(1.1, below, 5 + 2e-7, 2, text));
  EXPECT_EQ(judge({1.1}, {below}, {9}, {PolicyKind::bounded, 2}, hidden).errors.tally.open, 1u);
}

TEST(Policy, AResultOfTheFallbackIsNotOpen) {
  const std::vector<double> there{7};
  const Outputs fallback{{column(there)}};
  const auto open = [&](double candidate) {
    return judge({1e16}, {2}, {candidate}, {PolicyKind::bounded, 1}, "1 / ((x + y) - x)", {.fallback = &fallback})
        .errors.tally.open;
  };
  EXPECT_EQ(open(7), 0u);
  EXPECT_EQ(open(0.5), 1u);
}

TEST(Policy, BitsUnderFastAreComparedWhereInputsAreFinite) {
  const auto e = expr::parse_infix("x + y, sum(x)");
  ASSERT_TRUE(e.ok());
  Samples samples;
  samples.n = 3;
  samples.columns = {column({1, HUGE_VAL, 2}), column({1, 1, 1})};
  samples.calls = {{0, 3, false}};
  const Outputs wanted = {{column({2, HUGE_VAL, 3}), column({HUGE_VAL})}};
  const auto same = [&](PolicyKind policy, const std::vector<double>& sums, double total) {
    return !compare_bits(*e, samples, samples.calls, wanted, {{column(sums), column({total})}}, policy).has_value();
  };
  EXPECT_TRUE(same(PolicyKind::exact, {2, HUGE_VAL, 3}, HUGE_VAL));
  for (const PolicyKind policy : {PolicyKind::exact, PolicyKind::bounded, PolicyKind::fast}) {
    EXPECT_EQ(same(policy, {2, 7, 3}, HUGE_VAL), policy == PolicyKind::fast);
    EXPECT_EQ(same(policy, {2, HUGE_VAL, 3}, 7), policy == PolicyKind::fast);
    EXPECT_FALSE(same(policy, {2, HUGE_VAL, 3.5}, HUGE_VAL));
  }
}

TEST(Policy, FastLooksAtAllInputsOfATotal) {
  const expr::Policy fast{PolicyKind::fast, 2};
  const char* text = "minof(x) + minof(y)";
  EXPECT_FALSE(judge({1, 7}, {2, 2}, {99}, fast, text).passes);
  EXPECT_TRUE(judge({1, 7}, {2, 2}, {3}, fast, text).passes);
  EXPECT_TRUE(judge({1, HUGE_VAL}, {2, 2}, {99}, fast, text).passes);
  EXPECT_FALSE(judge({1, HUGE_VAL}, {2, 2}, {99}, {PolicyKind::bounded, 2}, text).passes);
}

// Sixteen terms of one sign and a sum that cancels: (log2 16 + 6) u times the sum of absolute values.
TEST(Policy, SumsAreMeasuredByTheirTerms) {
  std::vector<double> x, y(16, 1);
  for (int i = 0; i < 16; ++i) x.push_back(i % 2 == 0 ? 1e6 : -1e6);
  x[0] += 1;
  const double allowed = 10 * 0x1p-53 * 16'000'001 + 2 * 0x1p-52;
  EXPECT_TRUE(judge(x, y, {1 + 0.99 * allowed}, {PolicyKind::bounded, 1}, "sum(x) + 0*sum(y)").passes);
  EXPECT_FALSE(judge(x, y, {1 + 1.01 * allowed}, {PolicyKind::bounded, 1}, "sum(x) + 0*sum(y)").passes);
}

TEST(Policy, OtherClassesOfValuesAreRefused) {
  const double inf = HUGE_VAL;
  for (const PolicyKind kind : {PolicyKind::bounded, PolicyKind::fast}) {
    const expr::Policy policy{kind, 2};
    EXPECT_FALSE(judge({1}, {3}, {inf}, policy).passes);
    EXPECT_FALSE(judge({1}, {3}, {kNan}, policy).passes);
    EXPECT_FALSE(judge({1}, {3}, {-3}, policy).passes);
  }
  const expr::Policy bounded{PolicyKind::bounded, 2};
  EXPECT_TRUE(judge({1e300}, {1e300}, {inf}, bounded).passes);
  EXPECT_FALSE(judge({1e300}, {1e300}, {-inf}, bounded).passes);
  EXPECT_FALSE(judge({1e300}, {1e300}, {kNan}, bounded).passes);
  EXPECT_FALSE(judge({1e300}, {1e300}, {1e308}, bounded).passes);
  EXPECT_TRUE(judge({inf}, {0}, {kNan}, bounded).passes);
  EXPECT_FALSE(judge({inf}, {0}, {0}, bounded).passes);
  EXPECT_TRUE(judge({1e300}, {1e300}, {0}, {PolicyKind::fast, 2}).passes);  // left out
}

// x y is beyond doubles: the strict quotient is 0, the correct one above it.
TEST(Policy, WhatOverflowsOnTheWayToAConditionMayTakeTheOtherBranch) {
  const char* const text = "if(1 / (x*y) > 0, 3, 5)";
  EXPECT_TRUE(passes(1e200, 1e109, 3, 1, text));
  EXPECT_TRUE(passes(1e200, 1e109, 5, 1, text));
  EXPECT_FALSE(passes(1e200, 1e109, 4, 1, text));
  EXPECT_FALSE(passes(1e100, 1e200, 5, 1, text));
}

// x + y - x - y is 0 over the reals and -1 in doubles, at 1e16 and 1: a quotient by it is an infinity or a number, and
// so is what follows, or NaN. At 1 and 1 it is 0 however it is rounded.
TEST(Policy, RoundingDecidesWhetherAConditionComparesNan) {
  const char* const text = "p = 1/(x + y - x - y); if(sqrt(p*p + 1) - p > 2, 3, 5)";
  EXPECT_TRUE(passes(1e16, 1, 3, 1, text));
  EXPECT_TRUE(passes(1e16, 1, 5, 1, text));
  EXPECT_FALSE(passes(1e16, 1, 8, 1, text));
  EXPECT_TRUE(passes(1, 1, 5, 1, text));
  EXPECT_FALSE(passes(1, 1, 3, 1, text));
  EXPECT_TRUE(passes(1e16, 1, 1 + std::sqrt(2.0), 1, "p = 1/(x + y - x - y); max(sqrt(p*p + 1) - p, 0)"));
}

// x + y - x is 1 over the reals and 0 in doubles, at 1e16 and 1: another rounding gives a root of less than 0.
TEST(Policy, AConditionMayCompareNanWhereARootsOperandMayBeNegative) {
  const char *const below = "if(sqrt(x + y - x) < 9, 3, 5)", *const above = "if(sqrt(x + y - x) > 9, 3, 5)";
  for (const double either : {3, 5}) EXPECT_TRUE(passes(1e16, 1, either, 1, below));
  EXPECT_FALSE(passes(1e16, 1, 8, 1, below));
  EXPECT_FALSE(passes(1e16, 1, 3, 1, above));  // neither NaN nor a number is above
  EXPECT_TRUE(passes(1e16, 1, 5, 1, above));
  EXPECT_FALSE(passes(4, 1, 5, 1, below));
  EXPECT_TRUE(passes(1e16, 1, 5, 1, "if(sqrt(x + y - x) != 9, 5, 3)"));
  EXPECT_FALSE(passes(1e16, 1, 3, 1, "if(sqrt(x + y - x) != 9, 5, 3)"));
}

// e^800 is beyond doubles, and rounding decides whether 1 + tanh(-18.5) is 0: the product may be NaN.
TEST(Policy, InfinityTimesWhatMayBeZeroMayBeNan) {
  const char* const text = "exp(x) * (1 + tanh(y))";
  EXPECT_TRUE(passes(800, -18.5, kNan, 1, text));
  EXPECT_FALSE(passes(800, -1, kNan, 1, text));
}

// The greatest double is a rounding away from infinity: a result there may be on either side.
TEST(Policy, AtOverflowTheBoundMayReachBeyondTheType) {
  const double most = std::numeric_limits<double>::max();
  const expr::Policy bounded{PolicyKind::bounded, 2};
  EXPECT_TRUE(judge({most}, {1}, {HUGE_VAL}, bounded).passes);
  EXPECT_FALSE(judge({most}, {0.99}, {HUGE_VAL}, bounded).passes);
  EXPECT_FALSE(judge({most}, {1}, {-HUGE_VAL}, bounded).passes);
}

}  // namespace
}  // namespace trident::equiv
