// The policies as arithmetic. Oracle: their definitions, on products whose exact value lies half way between two
// doubles, so that every error is known without a reference. The strict error is 0.5 ulp, and a candidate `m` doubles
// beyond it is off by m + 0.5.
#include "jit/equiv/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace trident::equiv {
namespace {

using expr::PolicyKind;

constexpr double kOdd = 134'217'727;  // 2^27 - 1: its square has 54 bits, the last of them one

std::vector<std::byte> column(const std::vector<double>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

struct Judged {
  bool passes = false;
  Errors errors;
};

/// `candidate` for x * y at the points.
Judged judge(const std::vector<double>& x, const std::vector<double>& y, const std::vector<double>& candidate,
             const expr::Policy& policy, double strict_elsewhere_ulp = 0, const char* text = "x * y",
             const Standing& standing = {}) {
  const auto e = expr::parse_infix(text);
  EXPECT_TRUE(e.ok());
  Samples samples;
  samples.n = x.size();
  samples.columns = {column(x), column(y)};
  samples.calls = {{0, samples.n, false}};
  auto reference = Reference::make(*e, samples);
  EXPECT_TRUE(reference.ok());
  (void)strict_errors(*e, *reference, 1000);
  std::vector<Errors> errors;
  const auto difference =
      compare_values(*e, samples, *reference, {{column(candidate)}}, policy, {strict_elsewhere_ulp}, errors, standing);
  return {!difference.has_value(), errors[0]};
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

TEST(Policy, BoundedAllowsKTimesTheStrictErrorAndTwo) {
  ASSERT_EQ(0.5, std::fabs(std::fma(kOdd, kOdd, -kOdd * kOdd)) / 2);  // neighbours are 2 apart there
  struct Row {
    double k;
    int most;  // doubles: k * 0.5 + 2 - 0.5
  };
  for (const Row row : {Row{1, 2}, Row{3, 3}, Row{5, 4}, Row{2, 2}, Row{4, 3}}) {
    const expr::Policy policy{PolicyKind::bounded, row.k};
    for (int doubles = 0; doubles <= 7; ++doubles) {
      const Judged judged = judge({kOdd}, {kOdd}, {off_by(doubles)}, policy);
      EXPECT_EQ(doubles <= row.most, judged.passes) << "k " << row.k << ", " << doubles + 0.5 << " ulp";
      EXPECT_DOUBLE_EQ(0.5, judged.errors.strict_ulp);
      EXPECT_DOUBLE_EQ(doubles + 0.5, judged.errors.ours_ulp);
    }
  }
}

// 1e16 + 2 has neighbours 2 apart: a sum that is an ulp off makes 0 or 4 of the difference, where 2 is right.
TEST(Policy, StepsOffByAnUlpExcuseTheSourcesOwnSteps) {
  const auto passes = [](double candidate, const Standing& standing) {
    const Judged judged = judge({1e16}, {2}, {candidate}, {PolicyKind::bounded, 2}, 0, "(x + y) - x", standing);
    EXPECT_EQ(judged.passes ? 1u : 0u, judged.errors.tally.excused) << candidate;
    return judged.passes;
  };
  for (const double candidate : {0.0, 4.0}) {
    EXPECT_TRUE(passes(candidate, {.unrewritten = true})) << candidate;
    EXPECT_FALSE(passes(candidate, {})) << candidate;
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double candidate : {7.0, -3.0, 1e16, nan})
    EXPECT_FALSE(passes(candidate, {.unrewritten = true})) << candidate;
  // A result equal to the existing kernel's is no worse; any other is.
  const std::vector<double> there{7};
  const Outputs fallback{{column(there)}};
  EXPECT_TRUE(passes(7, {.fallback = &fallback}));
  EXPECT_FALSE(passes(6, {.fallback = &fallback}));
}

// A product of 1e47 has neighbours 2^104 apart. Where steps are an ulp off, its tangent is any number, and one in a
// hundred is beyond sixty. Values that spread evenly, as a cosine or the product itself, have no such outliers.
TEST(Policy, ATangentOfNothingButRoundingMayBeFarOff) {
  const std::string product = "(exp(x)*sqrt(x)*sqrt(y)*sqrt(x + y)*sqrt(x - y)*cbrt(x)*cbrt(y)*log(x)*exp(y))";
  const auto passes = [](const std::string& text, double candidate, const Standing& standing) {
    return judge({100}, {2}, {candidate}, {PolicyKind::bounded, 2}, 0, text.c_str(), standing).passes;
  };
  const Standing unrewritten{.unrewritten = true};
  for (const double candidate : {-35.0, 1e5, 1e7}) {
    EXPECT_TRUE(passes("tan" + product, candidate, unrewritten)) << candidate;
    EXPECT_FALSE(passes("tan" + product, candidate, {})) << candidate;
  }
  EXPECT_FALSE(passes("tan" + product, 1e12, unrewritten));
  EXPECT_FALSE(passes("cos" + product, -35, unrewritten));
  EXPECT_FALSE(passes(product + " - 1e47", 1e60, unrewritten));
  EXPECT_FALSE(passes("tan(y)", -35, unrewritten));
}

// x^64 by six squarings, whose roundings add up, less the power rounded once.
TEST(Policy, PowersMadeOfProductsAreExcused) {
  constexpr double kUlps = 12;
  double x = 1.25, product = 0, power = 0;
  do {
    x = std::nextafter(x, 2), product = x;
    for (int i = 0; i < 6; ++i) product *= product;
    power = static_cast<double>(std::pow(static_cast<long double>(x), 64.0L));
  } while (std::fabs(product - power) < kUlps * (std::nextafter(power, HUGE_VAL) - power));
  const auto passes = [&](double candidate, const Standing& standing) {
    return judge({x}, {power}, {candidate}, {PolicyKind::bounded, 2}, 0, "x^64 - y", standing).passes;
  };
  EXPECT_TRUE(passes(product - power, {.unrewritten = true}));
  EXPECT_FALSE(passes(3 * (product - power), {.unrewritten = true}));
  EXPECT_FALSE(passes(product - power, {}));
  EXPECT_FALSE(passes(product - power, {.point_by_point = true}));
}

// 64 times exp(x)^6 by an exponential that is an ulp too large. In a sum of like terms the errors do not cancel; in a
// sum of unlike terms they do. The sums are of long doubles, 11 bits more exact.
TEST(Policy, StepsOffByAnUlpAreOffAlikeForLikeOperands) {
  const auto passes = [](double apart, const Standing& standing) {
    std::vector<double> x, y(64, 1);
    long double sum = 0;
    for (int i = 0; i < 64; ++i) {
      x.push_back(0.7 + apart * i);
      const long double off = std::nextafter(std::exp(x.back()), 100.0);
      sum += off * off * off * off * off * off;
    }
    const char* text = "sum(exp(x) * exp(x) * exp(x) * exp(x) * exp(x) * exp(x) * y)";
    return judge(x, y, {static_cast<double>(sum)}, {PolicyKind::bounded, 1}, 0, text, standing).passes;
  };
  EXPECT_TRUE(passes(0, {.unrewritten = true}));
  EXPECT_FALSE(passes(0, {}));
  EXPECT_FALSE(passes(0x1p-20, {.unrewritten = true}));
}

// 1e16 + 2 - 1e16, whose strict evaluation is exact by luck. With half an ulp of bad luck in the sum it is off by 1;
// the perturbed steps find two thirds of that.
TEST(Policy, PointByPointASourceMayBeUnlucky) {
  const expr::Policy policy{PolicyKind::bounded, 2};
  for (const double candidate : {1.0, 2.5, 3.0, 3.3, 3.4, 5.0, 1e16}) {
    const bool near = std::fabs(candidate - 2) < 2 * 2.0 / 3;
    EXPECT_EQ(near, judge({1e16}, {2}, {candidate}, policy, 0, "(x + y) - x", {.point_by_point = true}).passes)
        << candidate;
    EXPECT_FALSE(judge({1e16}, {2}, {candidate}, policy, 0, "(x + y) - x").passes) << candidate;
  }
  // A product has no such luck.
  EXPECT_FALSE(judge({kOdd}, {kOdd}, {off_by(4)}, policy, 0, "x * y", {.point_by_point = true}).passes);
}

// Where the strict evaluation is exact only the slack is left.
TEST(Policy, BoundedAllowsTwoUlpWhereTheStrictValueIsExact) {
  for (const double k : {1.0, 2.0, 1000.0}) {
    double candidate = 3;
    for (int ulps = 0; ulps <= 5; ++ulps, candidate = std::nextafter(candidate, 4))
      EXPECT_EQ(ulps <= 2, judge({1}, {3}, {candidate}, {PolicyKind::bounded, k}).passes) << k << ", " << ulps;
  }
}

TEST(Policy, FastAllowsSixteenTimesTheStrictErrorAndSixtyFour) {
  const expr::Policy policy{PolicyKind::fast, 2};
  EXPECT_TRUE(judge({kOdd}, {kOdd}, {off_by(71)}, policy).passes);   // 71.5 of 72
  EXPECT_FALSE(judge({kOdd}, {kOdd}, {off_by(72)}, policy).passes);  // 72.5
}

TEST(Policy, AStrictErrorOfAnotherSetCounts) {
  const expr::Policy policy{PolicyKind::bounded, 2};
  EXPECT_FALSE(judge({kOdd}, {kOdd}, {off_by(4)}, policy).passes);
  EXPECT_TRUE(judge({kOdd}, {kOdd}, {off_by(4)}, policy, 1.25).passes);   // 2 * 1.25 + 2 = 4.5
  EXPECT_FALSE(judge({kOdd}, {kOdd}, {off_by(5)}, policy, 1.25).passes);  // 5.5
}

// Errors count in ulp of at least a millionth of the set's greatest value.
TEST(Policy, SmallValuesAreMeasuredOnTheScaleOfTheSet) {
  const expr::Policy policy{PolicyKind::bounded, 2};
  const double ulp_of_scale = std::ldexp(1, -52);  // of 1e-6 * 1.5e6 = 1.5
  for (int ulps = 0; ulps <= 4; ++ulps) {
    const double small = 1e-9 + ulps * ulp_of_scale;
    EXPECT_EQ(ulps <= 2, judge({1.5e6, 1e-9}, {1, 1}, {1.5e6, small}, policy).passes) << ulps;
    EXPECT_EQ(ulps == 0, judge({1, 1e-9}, {1, 1}, {1, small}, policy).passes) << ulps;  // 1e-6 of 1
  }
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
  EXPECT_FALSE(judge({1, 7}, {2, 2}, {99}, fast, 0, text).passes);
  EXPECT_TRUE(judge({1, 7}, {2, 2}, {3}, fast, 0, text).passes);
  EXPECT_TRUE(judge({1, HUGE_VAL}, {2, 2}, {99}, fast, 0, text).passes);
  EXPECT_FALSE(judge({1, HUGE_VAL}, {2, 2}, {99}, {PolicyKind::bounded, 2}, 0, text).passes);
}

TEST(Policy, OtherClassesOfValuesAreRefused) {
  const double inf = HUGE_VAL, nan = std::nan("");
  for (const PolicyKind kind : {PolicyKind::bounded, PolicyKind::fast}) {
    const expr::Policy policy{kind, 2};
    EXPECT_FALSE(judge({1}, {3}, {inf}, policy).passes);
    EXPECT_FALSE(judge({1}, {3}, {nan}, policy).passes);
    EXPECT_FALSE(judge({1}, {3}, {-3}, policy).passes);
  }
  const expr::Policy bounded{PolicyKind::bounded, 2};
  EXPECT_TRUE(judge({1e300}, {1e300}, {inf}, bounded).passes);
  EXPECT_FALSE(judge({1e300}, {1e300}, {-inf}, bounded).passes);
  EXPECT_FALSE(judge({1e300}, {1e300}, {nan}, bounded).passes);
  EXPECT_FALSE(judge({1e300}, {1e300}, {1e308}, bounded).passes);
  EXPECT_TRUE(judge({inf}, {0}, {nan}, bounded).passes);
  EXPECT_FALSE(judge({inf}, {0}, {0}, bounded).passes);
  EXPECT_TRUE(judge({1e300}, {1e300}, {0}, {PolicyKind::fast, 2}).passes);  // left out
}

}  // namespace
}  // namespace trident::equiv
