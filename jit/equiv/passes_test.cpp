// Reductions that meet elements, argmin and argmax in the reference and the checker. Oracles: sums in long double, the
// elements themselves, and the origin of each candidate, which is made from the same source or from one changed on
// purpose.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "jit/equiv/checker.h"
#include "jit/equiv/reference.h"

namespace trident::equiv {
namespace {

using expr::Type;

expr::Expr source_of_passes(const std::string& text, Type type, double lo, double hi) {
  const std::vector<expr::Variable> variables = {{"x", type, expr::VariableKind::array, lo, hi},
                                                 {"y", type, expr::VariableKind::array, lo, hi}};
  auto e = expr::parse(text, {.type = ir::is_int(type) ? Type::f64 : type, .variables = variables});
  if (!e.ok()) ADD_FAILURE() << text << ": " << e.error().message;
  CHECK(e.ok());
  return std::move(e).value();
}

expr::Expr anywhere(const std::string& text, Type type = Type::f64) {
  const double infinity = std::numeric_limits<double>::infinity();
  return source_of_passes(text, type, -infinity, infinity);
}

Samples one_call(const std::vector<double>& x, const std::vector<double>& y) {
  Samples samples;
  samples.name = "given", samples.n = x.size();
  for (const auto* values : {&x, &y}) {
    samples.columns.emplace_back(8 * values->size());
    std::memcpy(samples.columns.back().data(), values->data(), 8 * values->size());
  }
  samples.calls = {{0, x.size()}};
  return samples;
}

OutputValues first_output(const char* text, const std::vector<double>& x) {
  const expr::Expr e = anywhere(text);
  const Samples samples = one_call(x, std::vector<double>(x.size(), 2));
  auto reference = Reference::make(e, samples);
  CHECK(reference.ok());
  return reference->outputs()[0];
}

TEST(PassesReference, ValuesOfEachPass) {
  std::vector<double> x;
  for (int i = 0; i < 9001; ++i) x.push_back(std::sin(i) + 3);
  long double mean = 0, squares = 0;
  for (const double v : x) mean += v;
  mean /= static_cast<long double>(x.size());
  for (const double v : x) squares += (v - mean) * (v - mean);
  const OutputValues off = first_output("x - mean(x)", x), variance = first_output("var(x, 2)", x);
  ASSERT_EQ(off.correct.size(), x.size());
  EXPECT_FALSE(off.per_call);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(static_cast<double>(off.correct[i]), static_cast<double>(x[i] - mean), 1e-15);
  EXPECT_TRUE(variance.per_call);
  EXPECT_NEAR(static_cast<double>(variance.correct[0]), static_cast<double>(squares / 8999), 1e-15);
  EXPECT_GT(off.bound[0], 0x1p-53L);  // of the mean
}

// The correct value of an element of a later pass, asked of MPFR: one where the quick one has no digits.
TEST(PassesReference, ElementsOfLaterPassesAreRefined) {
  const expr::Expr e = anywhere("(x - sum(x)) * y");
  const Samples samples = one_call({1e300, 3, -1e300, 0x1p-60}, {1, 1, 1, 1});
  auto reference = Reference::make(e, samples);
  ASSERT_TRUE(reference.ok());
  reference->refine(0, 3);
  EXPECT_EQ(reference->outputs()[0].correct[3], -3.0L);
  reference->refine(0, 1);
  EXPECT_EQ(reference->outputs()[0].correct[1], -0x1p-60L);
}

struct Found {
  std::vector<double> x;
  std::int64_t least, greatest;
};

TEST(PassesReference, FirstOfEqualOnesAndFirstNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const Found kFound[] = {{{5}, 0, 0},
                          {{1, 2, 2, 1}, 0, 1},
                          {{3, nan, 7, nan}, 1, 1},
                          {{infinity, -infinity, infinity, -infinity}, 1, 0},
                          {{0.0, -0.0, 0.0}, 0, 0},
                          {{-infinity, -infinity}, 0, 0},
                          {{infinity, nan}, 1, 1}};
  for (const Found& found : kFound) {
    const OutputValues least = first_output("argmin(x)", found.x), greatest = first_output("argmax(x)", found.x);
    EXPECT_EQ(least.integer[0], found.least);
    EXPECT_EQ(greatest.integer[0], found.greatest);
    for (const OutputValues& out : {least, greatest}) EXPECT_EQ(out.whole[0].lo, out.whole[0].hi);
  }
}

// Computed elements that lie nearer to each other than their errors reach may each be the one; others may not.
TEST(PassesReference, ComputedElementsThatMayBeEqual) {
  const double near = std::nextafter(1.0, 2.0);
  const OutputValues out = first_output("argmax(exp(x) + 0)", {0.5, 1, 0.25, near, 0.75, 1, 0.5});
  EXPECT_EQ(out.integer[0], 3);
  EXPECT_EQ(out.whole[0].lo, 1);
  EXPECT_EQ(out.whole[0].hi, 5);
  const OutputValues apart = first_output("argmax(exp(x) + 0)", {0.5, 1, 1.5, 0.25});
  EXPECT_EQ(apart.whole[0].lo, 2);
  EXPECT_EQ(apart.whole[0].hi, 2);
  const OutputValues beyond = first_output("argmax(exp(x))", {0.5, 800, 900, 0.5});  // both are infinite in f64
  EXPECT_EQ(beyond.whole[0].lo, 1);
  EXPECT_EQ(beyond.whole[0].hi, 2);
}

struct Candidate {
  const char* source;
  const char* candidate;
  bool same;
};

Verdict verdict_of_passes(const expr::Expr& source, const expr::Expr& candidate, expr::Policy policy) {
  const auto kernel = expr::lower(candidate, {.policy = policy, .simplify = false});
  CHECK(kernel.ok());
  auto checker = Checker::make(source, policy, {.samples = {.points = 2048, .seed = 7}});
  CHECK(checker.ok());
  auto prepared = (*checker)->check_meaning(*kernel, Demand::policy);
  CHECK(prepared.ok());
  return prepared->meaning;
}

constexpr expr::Policy kPolicies[] = {{}, {expr::PolicyKind::exact, 0}, {expr::PolicyKind::fast, 0}};

/// Peters and Klein 2015: its root is of a quotient by a difference that cancels, often to 0.
constexpr const char* kMomentShadow =
    "m = 0.5; s = y; z = x; v = s*s; q = m*m; b = q + v; e = 2*v*(2*q + v); d = b - q; l = m*(q + 3*v) - m*b; k = l/d; "
    "g = z - m; h = (z*z - b - k*g)*d/(e*d - l*l); w = g/d - k*h; p = 0.5*w/h; r = sqrt(p*p - (1 - w*m - h*b)/h); "
    "a = -p - r; c = r - p; n = c < z; u = if(n, a, z); o = if(n, z, a); "
    "t = (u*c - m*(u + c) + b)/((c - o)*(z - a)); if(n, clamp(1 + t, 0, 1), if(a < z, clamp(t, 0, 1), 0))";

TEST(PassesChecker, SourcesKeepTheirOwnPolicy) {
  for (const expr::Policy& policy : kPolicies)
    for (const Type type : {Type::f32, Type::f64})
      for (const char* text :
           {"x - mean(x)", "var(x)", "var(x, 1)", "std(y, 3)", "argmin(x) + argmax(y)", "argmax(x * y)",
            "e = exp(x - maxof(x)); e / sum(e)", "(x - mean(x)) / std(x)",
            // Where a part of the sum overflows, the strict quotient is 0 or NaN.
            "x / sum(x)", "x / (1 + mean(y))", "sum(x) / sum(y)", "x > mean(x)", "1 / dot(x, y)",
            "if(x > mean(x), 1, 0)", "sum(if(x > mean(x), x, 0))", "max(x, mean(y)) - y",
            "max(x, mean(y)) - min(y, mean(x))", "min(sum(x), y)/max(x, sum(y))",
            // Zeros of both signs.
            "atan2(x, max(x, y))", "atan2(max(x, y), y)", "copysign(x, min(x, y))", "1/max(x, y)", "exp(1/min(x, y))",
            "max(x, y)^-3",
            // Products of means underflow to -0 where their difference is 0.
            "m = sum(x); a = sum(x*y)/m; p = sum(x*y*y)/m - a*a; atan2(p, p)",
            "m = sum(x); a = sum(x*y)/m; copysign(1, sum(x*y*y)/m - a*a)",
            // The bound of 0 reaches both infinities.
            "z = 2 - y; 2*x*(pow(x, z)/2 - x*pow(x, 1 - y) + pow(x, z)/2)",
            // The square overflows, so the strict result is about the root of y where the correct value is 0.
            "exp(ln(y)/2 - y*(x*(x/(x*x))))",
            // Errors of functions make the divisor zero, or not, or what is divided by a zero that follows from an
            // overflow.
            "1/(tanh(x) + tanh(y))", "x/(exp(-y) + y*sinh(y) - y*cosh(y))", "(pow(x, 1.5) - x*sqrt(x))/(x/(y*y))",
            "(x^3 - pow(x*x, 1.5))/(3*x*(x/sqrt(y/x^3)))", "x*(1 - tanh(y))^-1", "x*(1 - tanh(y))^-2",
            "pow(1 - tanh(y), -1.5) + x",
            // Rounding decides whether a condition compares NaN, or a maximum is of it.
            "if(sqrt(x - y*y) < 2, x, 1)", "if(sqrt(x*x - y*y) != x, x, y)", "p = x*x - y*y; if(x*p/p < y, x, 1)",
            "p = 1/(x*x - y*y); i32(p - 2*p) + i32(sin(p))", kMomentShadow}) {
        const expr::Expr source = anywhere(text, type);
        const Verdict verdict = verdict_of_passes(source, source, policy);
        EXPECT_TRUE(verdict.same()) << text << "\n" << print(verdict);
      }
}

TEST(PassesChecker, TellsMistakes) {
  const Candidate kCandidates[] = {
      {"x - mean(x)", "x + -1 * mean(x)", true},
      {"x - mean(x)", "x - mean(y)", false},
      {"x - mean(x)", "x - sum(x)", false},
      {"var(x)", "mean(x * x) - mean(x) * mean(x)", false},
      {"var(x)", "var(x, 1)", false},
      {"var(x, 1)", "var(x, 2)", false},
      {"argmax(x)", "argmin(x)", false},
      {"argmax(x)", "argmax(x) + 1", false},
      {"argmax(x)", "argmin(-x)", true},
      {"argmax(x)", "maxof(select(x == maxof(x), index, -1))", false},                       // the last of equal ones
      {"argmax(x)", "minof(select(x == maxof(x), index, i64(0x7FFFFFFFFFFFFFFF)))", false},  // NaN, no elements
      {"argmin(x * y)", "argmin(y * x)", true},
      {"x / sum(x)", "x / (sum(x) + 1e-3)", false},
      // A part overflows where no element and no part of the source does.
      {"sum(x + y)", "sum(x) + sum(y)", false},
      {"sum(x) + sum(y)", "sum(x + y)", false},
      {"mean(x - y)", "mean(x) - mean(y)", false},
      {"sum(0.25 * x)", "0.25 * sum(x)", false},
      {"dot(x, 0.25 * y)", "0.25 * dot(x, y)", false},
  };
  for (const Type type : {Type::f32, Type::f64})
    for (const Candidate& c : kCandidates) {
      const expr::Expr source = anywhere(c.source, type);
      for (const expr::Policy& policy : kPolicies) {
        if (policy.kind == expr::PolicyKind::exact && c.same) continue;
        const Verdict verdict = verdict_of_passes(source, anywhere(c.candidate, type), policy);
        EXPECT_EQ(verdict.same(), c.same) << c.source << " -> " << c.candidate << "\n" << print(verdict);
      }
    }
}

TEST(PassesChecker, LocationsOfIntegersAreExact) {
  for (const Type type : {Type::i32, Type::i64}) {
    const expr::Expr source = anywhere("argmin(x + y)", type);
    EXPECT_TRUE(verdict_of_passes(source, anywhere("argmin(y + x)", type), {}).same());
    EXPECT_FALSE(verdict_of_passes(source, anywhere("argmin(y + x + 1)", type), {}).same());  // wraps elsewhere
    EXPECT_FALSE(verdict_of_passes(source, anywhere("argmax(y + x)", type), {}).same());
  }
}

}  // namespace
}  // namespace trident::equiv
