// Facts of single operations against hand-computed intervals; soundness over random expressions is tested in
// tests/differential.
#include "jit/expr/ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace trident::expr {
namespace {

Fact fact_of(std::string_view text, Type type = Type::f64) {
  Result<Expr> expr = parse(text, {.type = type, .variables = {}});
  EXPECT_TRUE(expr.ok()) << (expr.ok() ? "" : expr.error().message);
  if (!expr.ok()) return {};
  Ranges ranges(*expr);
  return ranges.at(expr->outputs[0].node);
}

TEST(Ranges, SquaresAndSumsOfSquares) {
  const Fact f = fact_of("x in [-2, 3], y in [-1, 1]; x*x + y*y + 1");
  EXPECT_EQ(f.lo, 1);
  EXPECT_EQ(f.hi, 11);
  EXPECT_FALSE(f.may_be_nan);
  EXPECT_EQ(fact_of("x in [-2, 3]; x^2").lo, 0);
  EXPECT_EQ(fact_of("x in [-2, 3]; x^3").lo < -7.99, true);
  EXPECT_GE(fact_of("x in [-2, 3]; x^3").lo, -8.0001);
}

TEST(Ranges, SigmoidStaysBetweenZeroAndOne) {
  const Fact f = fact_of("x in [-20, 20]; 1 / (1 + exp(-x))");
  EXPECT_GT(f.lo, 0);
  EXPECT_LE(f.hi, 1);
  EXPECT_FALSE(f.may_be_nan);
}

TEST(Ranges, NanMayComeBesideARangeThatIsAssumed) {
  const auto fact_or_nan = [](std::string_view text, PolicyKind kind = PolicyKind::exact) {
    Result<Expr> expr = parse(text, {.type = Type::f64, .variables = {}});
    EXPECT_TRUE(expr.ok());
    expr->variables[0].or_nan = true;
    LowerOptions options;
    options.policy.kind = kind;
    return Ranges(*expr, options).at(expr->outputs[0].node);
  };
  for (const char* text : {"x in [1, 2]; x", "x in [1, 2]; x*x + 1", "x in [1, 2]; max(sin(x), x)"}) {
    EXPECT_TRUE(fact_or_nan(text).may_be_nan) << text;
    EXPECT_FALSE(fact_of(text).may_be_nan) << text;
    EXPECT_FALSE(fact_or_nan(text).finite()) << text;
    EXPECT_FALSE(fact_or_nan(text, PolicyKind::fast).may_be_nan) << text;  // inputs that are not finite give anything
  }
  EXPECT_EQ(fact_or_nan("x in [1, 2]; x").lo, 1);
  EXPECT_EQ(fact_or_nan("x in [1, 2]; x").hi, 2);
  EXPECT_FALSE(fact_or_nan("x in [1, 2]; max(x, 3)").may_be_nan);
  EXPECT_FALSE(fact_or_nan("x in [1, 2]; x < 3").always());
  EXPECT_TRUE(fact_or_nan("x in [1, 2]; x < 1").never());
  EXPECT_FALSE(fact_or_nan("x in [1, 2]; x != 3").never());
  EXPECT_TRUE(fact_or_nan("x in [1, 2]; x != 3").always());
  EXPECT_EQ(fact_or_nan("x in [1, 2]; i32(x)").hi, 0x1p31 - 1);
}

TEST(Ranges, UnknownVariablesMayBeAnything) {
  const Fact f = fact_of("x * 0");
  EXPECT_TRUE(f.may_be_nan);
  EXPECT_TRUE(fact_of("x in [0, inf]; x * 0").may_be_nan);
  EXPECT_FALSE(fact_of("x in [0, 1e300]; x * 0").may_be_nan);
  EXPECT_TRUE(fact_of("x in [-1, 1]; sqrt(x)").may_be_nan);
  EXPECT_TRUE(fact_of("x in [0, 1]; 1 / x").hi == INFINITY);
  // The zero may be -0.
  EXPECT_TRUE(fact_of("x in [0, 1]; 1 / x").lo == -INFINITY);
  EXPECT_TRUE(fact_of("x in [-1, 1]; x / x").may_be_nan);
}

TEST(Ranges, FractionsLieWithinAUnitWhateverTheirValue) {
  struct Case {
    const char* text;
    double lo, hi;
  };
  const Case cases[] = {{"x - floor(x)", 0, 1},
                        {"floor(x) - x", -1, 0},
                        {"x - ceil(x)", -1, 0},
                        {"x - trunc(x)", -1, 1},
                        {"x - round(x)", -0.5, 0.5},
                        {"rint(x) - x", -0.5, 0.5},
                        {"x - floor(y)", -INFINITY, INFINITY},
                        {"x - abs(x)", -INFINITY, INFINITY}};
  for (const Case& c : cases) {
    for (const Type type : {Type::f32, Type::f64}) {
      const Fact f = fact_of(c.text, type);
      EXPECT_EQ(f.lo, c.lo) << c.text;
      EXPECT_EQ(f.hi, c.hi) << c.text;
      EXPECT_TRUE(f.may_be_nan) << c.text;  // of infinities
    }
  }
  // A small negative number and its floor are a unit apart, rounded.
  EXPECT_EQ(-1e-30F - std::floor(-1e-30F), 1);
  EXPECT_FALSE(fact_of("x in [-1e30, 1e30]; x - floor(x)").may_be_nan);
  const Fact both = fact_of("x in [0, 0.25]; x - floor(x)");
  EXPECT_EQ(both.lo, 0);
  EXPECT_EQ(both.hi, 0.25);
}

TEST(Ranges, OverflowGivesInfinity) {
  EXPECT_EQ(fact_of("x in [0, 1e200]; x * x").hi, INFINITY);
  EXPECT_EQ(fact_of("x in [0, 1e30]; x * x", Type::f32).hi, INFINITY);
  EXPECT_TRUE(fact_of("x in [0, 1e200]; x * x - x * x * 2").may_be_nan);
}

TEST(Ranges, TrigonometryKnowsItsExtrema) {
  const Fact narrow = fact_of("x in [0, 1]; sin(x)");
  EXPECT_EQ(narrow.lo, 0);
  EXPECT_LT(narrow.hi, 0.8415);
  const Fact top = fact_of("x in [1, 2]; sin(x)");
  EXPECT_GE(top.hi, 1);
  EXPECT_LT(top.hi, 1.0001);
  EXPECT_GT(top.lo, 0.84);
  const Fact cosine = fact_of("x in [-0.5, 0.5]; cos(x)");
  EXPECT_GT(cosine.lo, 0.877);
  EXPECT_GE(cosine.hi, 1);
  EXPECT_TRUE(fact_of("x in [0, inf]; sin(x)").may_be_nan);
}

// libm's values at points of each interval lie in the computed interval, whatever quarter turns it holds. An interval
// without an extremum does not claim to reach one.
TEST(Ranges, SinesAndCosinesHoldEveryValueOfTheirInterval) {
  struct Function {
    const char* name;
    double (*of)(double);
  };
  const Function functions[] = {{"sin", [](double v) { return std::sin(v); }},
                                {"cos", [](double v) { return std::cos(v); }}};
  constexpr int kSteps = 64;
  constexpr double kWidening = 1e-3;
  for (const Function& f : functions) {
    for (double lo = -13; lo < 13; lo += 0.37) {
      for (const double width : {0.05, 0.4, 1.3, 2.2, 3.5, 5.0, 6.5}) {
        const double hi = lo + width;
        char text[128];
        std::snprintf(text, sizeof text, "x in [%.17g, %.17g]; %s(x)", lo, hi, f.name);
        const Fact fact = fact_of(text);
        double least = 1, most = -1;
        for (int i = 0; i <= kSteps; ++i) {
          const double value = f.of(lo + (hi - lo) * i / kSteps);
          least = std::min(least, value), most = std::max(most, value);
        }
        ASSERT_LE(fact.lo, least) << text;
        ASSERT_GE(fact.hi, most) << text;
        // Between two points the function moves by less than half their distance squared beside an extremum.
        const double step = width / kSteps, slack = kWidening + step * step;
        ASSERT_GE(fact.lo, least - slack) << text;
        ASSERT_LE(fact.hi, most + slack) << text;
        ASSERT_FALSE(fact.may_be_nan) << text;
      }
    }
  }
}

TEST(Ranges, ComparisonsAndSelects) {
  EXPECT_TRUE(fact_of("x in [0, 1]; f64(x < 2)").lo == 1);
  EXPECT_TRUE(fact_of("x in [0, 1]; f64(x > 1)").hi == 0);
  EXPECT_EQ(fact_of("x in [0, 1]; x >= 0 ? 5 : x").lo, 5);
  EXPECT_EQ(fact_of("x == x ? 1 : 0").lo, 0);
}

TEST(Ranges, Integers) {
  EXPECT_EQ(fact_of("i: i32 in [0, 100]; i * i").hi, 10000);
  EXPECT_EQ(fact_of("i: i32; i + 1").hi, 2147483647.0);
  EXPECT_EQ(fact_of("i: i32 in [-5, 9]; i & 7").hi, 7);
  EXPECT_TRUE(fact_of("x in [0, 9]; floor(x)").integral);
  EXPECT_FALSE(fact_of("x in [0, 9]; floor(x) / 2").integral);
}

TEST(Ranges, NormalDivision) {
  const Fact one{1, 2, false, false};
  EXPECT_TRUE(division_is_normal(Type::f32, one, one));
  EXPECT_FALSE(division_is_normal(Type::f32, {-1, 1, false, false}, one));
  EXPECT_FALSE(division_is_normal(Type::f32, {1e-38, 1, false, false}, one));
  EXPECT_FALSE(division_is_normal(Type::f32, {1e20, 1e20, false, false}, {1e-20, 1e-20, false, false}));
  EXPECT_TRUE(division_is_normal(Type::f64, {1e20, 1e20, false, false}, {1e-20, 1e-20, false, false}));
  EXPECT_FALSE(division_is_normal(Type::f64, {1, 2, true, false}, one));
}

TEST(Ranges, BoundedDivisionAndSqrt) {
  const Fact one{1, 2, false, false}, around_zero{-1, 1, false, false};
  EXPECT_EQ(division_flags(Type::f32, one, one), kir::kNormal);
  EXPECT_EQ(division_flags(Type::f32, around_zero, one), kir::kBounded);
  EXPECT_EQ(division_flags(Type::f32, one, around_zero), 0);
  EXPECT_EQ(division_flags(Type::f32, around_zero, {1e-12, 1, false, false}), 0);
  EXPECT_EQ(division_flags(Type::f32, {-1e20, 1e20, false, false}, one), 0);
  EXPECT_EQ(division_flags(Type::f64, {-1e20, 1e20, false, false}, {1e-12, 1, false, false}), kir::kBounded);
  EXPECT_EQ(division_flags(Type::f32, {-1, 1, true, false}, one), 0);
  EXPECT_EQ(sqrt_flags(Type::f32, {0, 12, false, false}), kir::kBounded);
  EXPECT_EQ(sqrt_flags(Type::f32, {1, 12, false, false}), kir::kNormal);
  EXPECT_EQ(sqrt_flags(Type::f32, around_zero), 0);
  EXPECT_EQ(sqrt_flags(Type::f32, {0, 1e20, false, false}), 0);
}

}  // namespace
}  // namespace trident::expr
