// Derivatives against central difference quotients of the expression itself, both in 600-bit arithmetic: a step of
// 2^-150 leaves an error of 2^-300, so that agreement to 1e-12 tells a right formula from a wrong one.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/mpfr_evaluator.h"
#include "tests/support/random_expr.h"

namespace trident {
namespace {

constexpr int kBits = 600;
constexpr int kStepBits = 150;

struct Case {
  const char* text;
  double lo, hi;  // of every variable
};

// Every float op with a derivative, in a chain and with both operands moving.
constexpr Case kCases[] = {
    {"x*y + x/y - x", 0.5, 3},
    {"-x * recip(y) + abs(x - 1.1)", 0.5, 3},
    {"min(x, y*y) + max(x*x, y)", 0.5, 3},
    {"fma(x, y, x*x)", -2, 2},
    {"sqrt(x*y) + rsqrt(x + y) + cbrt(x*y)", 0.5, 3},
    {"hypot(x, x*y)", 0.5, 3},
    {"exp(x*y) + exp2(x - y) + expm1(x*x)", -2, 2},
    {"log(x*y) + log2(x + y) + log10(x) + log1p(x*y)", 0.5, 3},
    {"pow(x, y) + pow(x, 2.5) + pow(2.5, y)", 0.5, 3},
    {"x^5 + y^-3 + (x*y)^2 + x^1 + y^0", 0.5, 3},
    {"sin(x*y) + cos(x - y) * tan(x)", -1, 1},
    {"asin(x*y) + acos(x*x) + atan(x/(y + 3))", -0.9, 0.9},
    {"atan2(x, y*y + 1)", -2, 2},
    {"sinh(x*y) + cosh(x - y) + tanh(x + y)", -2, 2},
    {"asinh(x*y) + acosh(x*x + 1.5) + atanh(x/10)", -2, 2},
    {"erf(x*y) + erfc(x - y)", -2, 2},
    {"floor(x*y)*x + ceil(y)*x + round(x)*y + rint(y)*y + trunc(x)*y", 0.5, 3},
    {"fmod(x*7, y) + copysign(x*x, y - 1.3) + sign(x)*y", 0.5, 3},
    {"x < y ? x*x : y*x*3", 0.5, 3},
    {"let s = 1/(1 + exp(-x*y)) in s*(1 - s)*x", -2, 2},
};

// How far `got` is from `want`, relative to the larger of it and 1.
long double distance(long double got, long double want) {
  return std::fabs(got - want) / std::max(1.0L, std::fabs(want));
}

expr::Expr parsed(const std::string& text) {
  Result<expr::Expr> e = expr::parse(text);
  EXPECT_TRUE(e.ok()) << text << (e.ok() ? "" : e.error().message);
  return std::move(e).value();
}

void check_against_quotients(const expr::Expr& value, const expr::Expr& derivative, std::uint32_t output,
                             std::uint32_t wrt, double lo, double hi, const std::string& what) {
  testing::Random random(7);
  for (int point = 0; point < 30; ++point) {
    std::vector<double> at;
    for (std::size_t v = 0; v < value.variables.size(); ++v) at.push_back(lo + (hi - lo) * random.unit());
    const long double want = testing::difference_quotient(value, at, wrt, kBits, kStepBits)[0];
    const long double got = testing::evaluate_real(derivative, at, kBits)[output];
    ASSERT_LT(distance(got, want), 1e-12L)
        << what << " at " << at[0] << ", " << at.back() << ": " << (double)got << " instead of " << (double)want;
  }
}

TEST(ExprDerivative, ForwardAgreesWithDifferenceQuotients) {
  for (const Case& c : kCases) {
    for (const std::string x : {"x", "y"}) {
      const std::string text = std::string("x:f64, y:f64; ") + c.text;
      const expr::Expr value = parsed(text);
      const Result<expr::Expr> d =
          expr::eliminate_derivatives(parsed(std::string("x:f64, y:f64; v = ") + c.text + "; diff(v, " + x + ")"));
      ASSERT_TRUE(d.ok()) << d.error().message;
      check_against_quotients(value, *d, 0, x == "x" ? 0 : 1, c.lo, c.hi, text + " by " + x);
    }
  }
}

TEST(ExprDerivative, ReverseAgreesWithDifferenceQuotients) {
  for (const Case& c : kCases) {
    const expr::Expr value = parsed(std::string("x:f64, y:f64; ") + c.text);
    const Result<expr::Expr> d = expr::eliminate_derivatives(parsed(std::string("x:f64, y:f64; grad(") + c.text + ")"));
    ASSERT_TRUE(d.ok()) << d.error().message;
    for (std::uint32_t k = 0; k < 2; ++k) check_against_quotients(value, *d, k, k, c.lo, c.hi, c.text);
  }
}

TEST(ExprDerivative, SecondDerivativesByNesting) {
  for (const Case& c : kCases) {
    const std::string head = std::string("x:f64, y:f64; v = ") + c.text;
    const Result<expr::Expr> first = expr::eliminate_derivatives(parsed(head + "; diff(v, x)"));
    const Result<expr::Expr> second = expr::eliminate_derivatives(parsed(head + "; diff(diff(v, x), y)"));
    ASSERT_TRUE(first.ok() && second.ok());
    check_against_quotients(*first, *second, 0, 1, c.lo, c.hi, head + " by x and y");
  }
}

TEST(ExprDerivative, ReductionsByParameters) {
  const Result<expr::Expr> d = expr::eliminate_derivatives(parsed("param a; diff(sum(a*a*x) + dot(x, a*x), a)"));
  ASSERT_TRUE(d.ok()) << d.error().message;
  const Result<expr::Expr> bad = expr::eliminate_derivatives(parsed("diff(sum(x*x), x)"));
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message.find("with respect to the array 'x'"), std::string::npos);
}

TEST(ExprDerivative, NothingRemainsOfRandomDiffs) {
  testing::RandomExprOptions options;
  options.derivatives = true;
  options.reductions = false;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    const expr::Expr e = testing::random_expr(seed, options);
    const Result<expr::Expr> d = expr::eliminate_derivatives(e);
    ASSERT_TRUE(d.ok()) << d.error().message;
    const Result<void> sound = expr::check(*d);
    // Nested derivatives may outgrow what a client may submit.
    if (!sound.ok()) {
      ASSERT_EQ(sound.error().code, ErrorCode::kLimitExceeded) << "seed " << seed << " " << sound.error().message;
    }
    for (const expr::Node& n : d->nodes) ASSERT_NE(n.op, expr::Op::Diff);
  }
}

}  // namespace
}  // namespace trident
