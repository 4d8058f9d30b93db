// Derivatives against central difference quotients of the expression itself, both in 600-bit arithmetic: a step of
// 2^-150 leaves an error of 2^-300, so that agreement to 1e-12 tells a right formula from a wrong one.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "jit/kir/interpreter.h"
#include "tests/differential/special_values.h"
#include "tests/support/draws.h"
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
  for (const std::string name : {"minof", "maxof", "prod"}) {
    const Result<expr::Expr> none = expr::eliminate_derivatives(parsed("param a; diff(" + name + "(a*x), a)"));
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().message, name + " has no derivative");
  }
}

// Derivatives as computed in the type, where difference quotients say nothing: values worked out by hand. `Big` and
// `Tiny` are numbers whose squares leave the type's range.
enum class At : std::uint8_t { plain, big, tiny };
struct Special {
  const char* text;
  double x, y;    // times Big or Tiny
  double dx, dy;  // ... and divided by it
  At at = At::plain;
  bool backwards = true;  // not where an adjoint of 0 meets a partial derivative of NaN
};
constexpr Special kSpecials[] = {
    // 1 / 0.1 is rounded up to 10, but 0.1 as a float goes only nine times into 1.
    {"fmod(x, y)", 1, 0.1, 1, -9},
    {"fmod(x, y)", -1, 0.1, 1, 9},
    {"fmod(x, y)", 1, -0.1, 1, 9},
    {"fmod(x, y)", 7.5, 2, 1, -3},
    {"fmod(x, y)", 6, 2, 1, -3},
    {"fmod(x, y)", 1, kInf, 1, 0},
    {"fmod(x, y)", 5e-324, 1e-40, 1, 0},
    {"fmod(x, y)", kNan, 1, 1, kNan},
    // The value is the other operand where one is NaN, and so is the derivative.
    {"min(x, y)", 2, kNan, 1, 0},
    {"min(x, y)", kNan, 2, 0, 1},
    {"max(x, y)", 2, kNan, 1, 0},
    {"max(x, y)", kNan, 2, 0, 1},
    {"min(x * x, y)", kNan, 2, 0, 1, At::plain, false},
    {"max(x, y * y)", 3, kNan, 1, 0, At::plain, false},
    {"min(x, y)", 1, 1, 1, 0},
    {"max(x, y)", 1, 1, 1, 0},
    {"min(x, y)", -0.0, 0.0, 1, 0},
    {"max(x, y)", 0.0, -0.0, 1, 0},
    {"min(x, y)", kInf, 1, 0, 1},
    {"max(x, y)", -kInf, 1, 0, 1},
    {"atan2(x, y)", 1, 1, 0.5, -0.5, At::big},
    {"atan2(x, y)", 3, 4, 0.16, -0.12, At::big},
    {"atan2(x, y)", 3, -4, -0.16, -0.12, At::big},
    {"atan2(x, y)", 1, 1, 0.5, -0.5, At::tiny},
    {"atan2(x, y)", -3, 4, 0.16, 0.12, At::tiny},
    {"atan2(x, y)", 0, 2, 0.5, 0},
    {"atan2(x, y)", 2, 0, 0, -0.5},
    {"asinh(x) + y * 0", 1, 1, 1, 0, At::big},
    {"acosh(x) + y * 0", 2, 1, 0.5, 0, At::big},
    {"asinh(x) - asinh(y)", 0, 0, 1, -1},
    {"log(x) - log2(y) * 0", 4, 1, 0.25, 0, At::tiny},
    {"x / y", 1, 1, 1, -1, At::tiny},
    {"x / y", 1, 1, 1, -1, At::big},
    {"hypot(x, y)", 3e30, 4e30, 0.6, 0.8},
    {"hypot(x, y)", 3e-30, -4e-30, 0.6, -0.8},
    {"abs(x) + abs(y)", 0, -0.0, 0, 0},
    {"abs(x) + abs(y)", -kInf, 3, -1, 1},
    {"copysign(x, y)", 2, -0.0, -1, 0},
    {"copysign(x, y)", -2, -3, 1, 0},
    {"sqrt(x) + sqrt(y)", 0, 4, kInf, 0.25},
    {"sqrt(x) + sqrt(y)", -1, kInf, kNan, 0},
    {"pow(x, 3) + pow(y, 1)", 0, 0, 0, 1},
    {"pow(x, y)", 2, 0, 0, 0.69314718055994531},
    {"pow(x, y)", 0, 2, 0, kNan},  // as derivative.cpp says
    {"x^2 * y^3", 0, 0, 0, 0},
    {"exp(x) + exp(y)", -1e4, 0, 0, 1},
    {"tanh(x) + erf(y)", 1e30, -1e30, 0, 0},
    {"x < y ? 2 * x : 3 * x", kNan, 1, 3, 0},
    {"x < y ? 2 * x : 3 * x", 1, 1, 3, 0},
    {"floor(x) + rint(y)", 2, 0.5, 0, 0},
    {"x * y", kInf, 0, 0, kInf},
};

template <class T>
void check_special(const Special& s, const expr::LowerOptions& options, bool reverse) {
  constexpr ir::Type type = sizeof(T) == 4 ? ir::Type::f32 : ir::Type::f64;
  const double unit = s.at == At::plain ? 1
                      : s.at == At::big ? (sizeof(T) == 4 ? 0x1p80 : 0x1p700)
                                        : (sizeof(T) == 4 ? 0x1p-80 : 0x1p-700);
  const std::string text =
      reverse ? std::string("grad(") + s.text + ")" : std::string("v = ") + s.text + "; (diff(v, x), diff(v * 1, y))";
  const Result<expr::Expr> source =
      expr::parse(text, {.type = type,
                         .variables = {{"x", type, expr::VariableKind::array}, {"y", type, expr::VariableKind::array}},
                         .file = s.text});
  ASSERT_TRUE(source.ok()) << source.error().message;
  const Result<expr::Expr> d = expr::eliminate_derivatives(*source);
  ASSERT_TRUE(d.ok()) << d.error().message;
  const Result<kir::Kernel> kernel = expr::lower(*d, options);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const T x = static_cast<T>(s.x * unit);
  const T y = static_cast<T>(s.y * unit);
  T got[2] = {};
  const void* in[] = {&x, &y};
  void* out[] = {&got[0], &got[1]};
  kir::interpret(*kernel, 1, in, out, nullptr);
  for (int k = 0; k < 2; ++k) {
    const double want = (k == 0 ? s.dx : s.dy) / unit;
    const bool same = std::isnan(want)   ? std::isnan(got[k])
                      : std::isinf(want) ? static_cast<double>(got[k]) == want
                                         : std::fabs(static_cast<double>(got[k]) - want) <=
                                               (sizeof(T) == 4 ? 1e-6 : 1e-14) * std::fabs(want);
    EXPECT_TRUE(same) << s.text << " by " << (k == 0 ? "x" : "y") << " at " << x << ", " << y << " in "
                      << ir::name_of(type) << (reverse ? " backwards" : "") << ": " << got[k] << " instead of " << want;
  }
}

TEST(ExprDerivative, ValuesAtSpecialPoints) {
  const expr::LowerOptions kOptions[] = {{.policy = {.kind = expr::PolicyKind::exact}, .simplify = false},
                                         {.policy = {.kind = expr::PolicyKind::exact}},
                                         {}};
  for (const Special& s : kSpecials) {
    for (const expr::LowerOptions& options : kOptions) {
      for (const bool reverse : {false, true}) {
        if (reverse && !s.backwards) continue;
        check_special<double>(s, options, reverse);
        check_special<float>(s, options, reverse);
      }
    }
  }
}

TEST(ExprDerivative, NothingRemainsOfRandomDiffs) {
  testing::RandomExprOptions options;
  options.derivatives = true;
  options.reductions = false;
  for (std::uint64_t seed = 0; seed < testing::draws(1250); ++seed) {
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
