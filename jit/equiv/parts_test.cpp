// Forms that are careful or careless in regions that no drawn point reaches. The oracle of a careless one is a point at
// which the interpreter's values of source and form are far apart; of a careful one, its construction (the source's own
// steps, or steps that lose nothing).
#include "jit/equiv/parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>

#include "jit/equiv/probe.h"
#include "jit/kir/interpreter.h"

namespace trident::equiv {
namespace {

using expr::Type;

struct Range {
  double lo, hi;
};

expr::Expr parsed(std::string_view text, const std::vector<std::string>& names, const std::vector<Range>& ranges) {
  expr::ParseOptions options;
  for (std::size_t v = 0; v < names.size(); ++v)
    options.variables.push_back({names[v], Type::f64, expr::VariableKind::array, ranges[v].lo, ranges[v].hi});
  auto e = expr::parse_infix(text, options);
  if (!e.ok()) ADD_FAILURE() << e.error().message;
  CHECK(e.ok());
  return std::move(e).value();
}

constexpr expr::LowerOptions kHow{.policy = {}, .simplify = false, .accuracy = kir::math::Accuracy::ulp1};

double value_at(const expr::Expr& e, const std::vector<double>& at) {
  const auto kernel = expr::lower(e, kHow);
  CHECK(kernel.ok());
  std::vector<const void*> in;
  for (const double& x : at) in.push_back(&x);
  double result = 0;
  void* out[] = {&result};
  kir::Plan::prepare(*kernel).run(1, in.data(), out, nullptr);
  return result;
}

struct Case {
  const char* source;
  const char* form;
  std::vector<std::string> names;
  std::vector<Range> ranges;
  std::vector<double> careless_at;  // empty: the form is careful
};

const Case kCases[] = {
    // A mask, which none of some thousand points meets, in front of a quotient that loses its digits near zero.
    {"(k == 7 && m == 3) * (expm1(x) / x) + exp(x) * y",
     "(k == 7 && m == 3) * ((exp(x) - 1) / x) + exp(x) * y",
     {"k", "m", "x", "y"},
     {{0, 100}, {0, 100}, {-1, 1}, {-1, 1}},
     {7, 3, 1e-9, 0}},
    {"(k == 7 && m == 3) * (expm1(x) / x) + exp(x) * y",
     "fma(exp(x), y, (k == 7 && m == 3) * (expm1(x) / x))",
     {"k", "m", "x", "y"},
     {{0, 100}, {0, 100}, {-1, 1}, {-1, 1}},
     {}},
    // Shared factors hide it: y * exp(x) - mask / x is y * exp(x) wherever the mask is 0.
    {"f64(k * m == 3269) * (expm1(x) / x) + exp(x) * y",
     "q = f64(k * m == 3269) / x; e = exp(x); fma(e, q, fma(y, e, -q))",
     {"k", "m", "x", "y"},
     {{2, 200}, {2, 200}, {-1, 1}, {-1, 1}},
     {7, 467, 1e-9, 0}},
    // A bump.
    {"max(0, 1 - (k * m - 3269)^2) * (tanh(x) / x) + y",
     "e = exp(2 * x); fma(max(0, 1 - (k * m - 3269)^2), (e - 1) / (e + 1) / x, y)",
     {"k", "m", "x", "y"},
     {{2, 2000}, {2, 2000}, {-1, 1}, {-1, 1}},
     {7, 467, 1e-9, 0}},
    // The bump itself, expanded into a polynomial that cancels.
    {"max(0, 1 - (k * m - 32697551)^2) * x",
     "max(0, (k * m) * (65395102 - k * m) - 1069129841397600) * x",
     {"k", "m", "x"},
     {{2, 20000}, {2, 20000}, {0.5, 1}},
     {4129.0001, 7919, 1}},
    // A series near a point that the branch of a selection is for.
    {"select(abs(x - 2) < 1e-5, expm1(x - 2) / (x - 2), exp(x - 2))",
     "e = exp(x - 2); select(abs(x - 2) < 1e-5, (e - 1) / (x - 2), e)",
     {"x"},
     {{1, 10}},
     {2.00000001}},
    {"select(abs(x - 2) < 1e-5, 1 + (x - 2) / 2, exp(x - 2))",
     "d = x - 2; select(abs(d) < 1e-5, fma(d, 0.5, 1), exp(d))",
     {"x"},
     {{1, 10}},
     {}},
    // A clamp that hides all but the surroundings of a point in four dimensions.
    {"s = (a - 0.1)^2 + (b - 0.2)^2 + (c - 0.3)^2 + (d - 0.4)^2; max(log1p(s) / s, 0.999)",
     "s = (a - 0.1)^2 + (b - 0.2)^2 + (c - 0.3)^2 + (d - 0.4)^2; max(log(1 + s) / s, 0.999)",
     {"a", "b", "c", "d"},
     {{0, 1}, {0, 1}, {0, 1}, {0, 1}},
     {0.100001, 0.200001, 0.300001, 0.400001}},
    // Likewise, with a form that computes the distance itself carelessly.
    {"s = (a - 0.1)^2 + (b - 0.2)^2 + (c - 0.3)^2 + (d - 0.4)^2; max(log1p(s) / s, 0.999)",
     "s = a * (a - 0.2) + b * (b - 0.4) + c * (c - 0.6) + d * (d - 0.8) + 0.3; max(log1p(s) / s, 0.999)",
     {"a", "b", "c", "d"},
     {{0, 1}, {0, 1}, {0, 1}, {0, 1}},
     {0.1, 0.2, 0.3, 0.4}},
    // A mask that is no comparison, computed in another way: nothing shows that it is the same.
    {"(1 + copysign(1, 0.0004 - ((x * 3 - 4.1)^2 + (y * 3 - 4.7)^2))) * (expm1(w) / w) + exp(w)",
     "(1 + copysign(1, 0.0004 - (x * (9 * x - 24.6) + y * (9 * y - 28.2) + 38.9))) * ((exp(w) - 1) / w) + exp(w)",
     {"x", "y", "w"},
     {{1, 2}, {1, 2}, {0, 1e-6}},
     {4.1 / 3, 4.7 / 3, 1e-10}},
    {"floor(1 + max(0.0004 - ((x * 3 - 4.1)^2 + (y * 3 - 4.7)^2), -1)) * (expm1(w) / w) + exp(w)",
     "(1 + floor(max(0.0004 - (x * (9 * x - 24.6) + y * (9 * y - 28.2) + 38.9), -1))) * ((exp(w) - 1) / w) + exp(w)",
     {"x", "y", "w"},
     {{1, 2}, {1, 2}, {0, 1e-6}},
     {4.1 / 3, 4.7 / 3, 1e-10}},
    // A mask made of alike values, though by other steps.
    {"(abs(k * 3 - 7.3) < 0.001) * (a / hypot(a, x)) + z",
     "(abs(fma(k, -3, 7.3)) < 0.001) * (a / sqrt(a * a + x * x)) + z",
     {"k", "a", "x", "z"},
     {{0, 100}, {1, INFINITY}, {1, INFINITY}, {0, 1}},
     {2.43333333, 1e200, 1e200, 0}},
    // Overflow behind a mask.
    {"(k == 7 && m == 3) * (a / hypot(a, x)) + z",
     "(k == 7 && m == 3) * (a / sqrt(a * a + x * x)) + z",
     {"k", "m", "a", "x", "z"},
     {{0, 100}, {0, 100}, {1, INFINITY}, {1, INFINITY}, {0, 1}},
     {7, 3, 1e200, 1e200, 0}},
    // Into a reduction, and out of one; two reductions that look the same but behind the mask.
    {"dot((k == 7 && m == 3) * (log1p(w) / w) + log(1 + w) * u, u + 1)",
     "dot((k == 7 && m == 3) * (log(1 + w) / w) + log(1 + w) * u, u + 1)",
     {"k", "m", "w", "u"},
     {{0, 100}, {0, 100}, {0, 1e-6}, {0, 1}},
     {7, 3, 1e-9, 0}},
    {"sum(exp(w) * u) + 2 * sum((k == 7) * (expm1(w) / w) + exp(w) * u)",
     "sum(exp(w) * u) + 2 * sum((k == 7) * ((exp(w) - 1) / w) + exp(w) * u)",
     {"k", "w", "u"},
     {{0, 100}, {0, 1e-6}, {0, 1}},
     {7, 1e-9, 0}},
    {"f64(abs(sum(x) - 1.5) < 1e-4) * (log1p(sum(w)) / sum(w)) + log(1 + sum(w)) * minof(u)",
     "s = sum(w); f64(abs(sum(x) - 1.5) < 1e-4) * (log(1 + s) / s) + log(1 + s) * minof(u)",
     {"x", "w", "u"},
     {{1, 2}, {0, 1e-6}, {0, 1}},
     {1.5, 1e-9, 0}},
    {"dot(x - y, x + y) + sum(exp(y))", "sum(exp(y)) + dot(y + x, x - y)", {"x", "y"}, {{1, 2}, {1, 2}}, {}},
    // Careless in a place where that does not matter.
    {"expm1(x) + 1000", "exp(x) + 999", {"x"}, {{-1, 1}}, {}},
    // Reductions that differ from the source's: in calls of some elements.
    {"sum(2 * x * y)", "2 * dot(x, y)", {"x", "y"}, {{1, 4}, {-2, 3}}, {}},
    {"sum(3 * x) - sum(-3 * y)", "3 * sum(x + y)", {"x", "y"}, {{1, 4}, {2, 3}}, {}},
    {"mean(x * 2 + 1)", "fma(mean(x), 2, 1)", {"x"}, {{1, 4}}, {}},
    {"maxof(exp(x) + 1)", "exp(maxof(x)) + 1", {"x"}, {{-4, 4}}, {}},
    {"sum(u) + sum((k == 7 && m == 3) * (expm1(w) / w) + exp(w) * y)",
     "sum(u + ((k == 7 && m == 3) * (expm1(w) / w) + exp(w) * y))",
     {"u", "k", "m", "w", "y"},
     {{1, 2}, {0, 100}, {0, 100}, {0.5, 1}, {1, 2}},
     {}},
    {"sum(u) + sum((k == 7 && m == 3) * (expm1(w) / w) + exp(w) * y)",
     "sum(u + ((k == 7 && m == 3) * ((exp(w) - 1) / w) + exp(w) * y))",
     {"u", "k", "m", "w", "y"},
     {{1, 2}, {0, 100}, {0, 100}, {-1, 1}, {1, 2}},
     {1, 7, 3, 1e-9, 1}},
    // A relation between possible cuts: sine and cosine of one angle.
    {"sin(x)^2 * y + cos(x)^2 * y", "y", {"x", "y"}, {{-3, 3}, {1, 2}}, {}},
};

TEST(Parts, AreAsCarefulAsTheirSourceOrRefused) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.form);
    const expr::Expr source = parsed(c.source, c.names, c.ranges), form = parsed(c.form, c.names, c.ranges);
    if (!c.careless_at.empty()) {
      const double right = value_at(source, c.careless_at), wrong = value_at(form, c.careless_at);
      ASSERT_GT(std::fabs(right - wrong), 1e-10 * std::fabs(right)) << "the case shows nothing";
    }
    CheckOptions options;
    options.samples.seed = 5;
    const auto verdict = check_parts(source, form, kHow, options);
    ASSERT_TRUE(verdict.ok()) << verdict.error().message;
    EXPECT_EQ(verdict->same(), c.careless_at.empty()) << print(*verdict);
  }
}

// Which reduction is used shows only in calls of several elements, and twice a mean is a sum of two: behind a branch
// that no drawn point takes.
TEST(Parts, TellReductionsApartInCallsOfTwoAndThree) {
  const std::vector<std::string> names = {"x", "y"};
  const std::vector<Range> ranges = {{0, 1}, {1, 2}};
  const std::string branch = "maxof(abs(x - 0.123456)) < 1e-7";
  const auto same = [&](const std::string& source, const std::string& form) {
    const auto verdict =
        check_parts(parsed("select(" + branch + ", " + source + ", 1) + sum(x)", names, ranges),
                    parsed("select(" + branch + ", " + form + ", 1) + sum(x)", names, ranges), kHow, CheckOptions{});
    EXPECT_TRUE(verdict.ok());
    return verdict.ok() && verdict->same();
  };
  EXPECT_TRUE(same("sum(2 * y)", "2 * sum(y)"));
  EXPECT_FALSE(same("sum(2 * y)", "2 * maxof(y)"));
  EXPECT_FALSE(same("sum(2 * y)", "4 * mean(y)"));
  EXPECT_FALSE(same("mean(y)", "minof(y)"));
}

/// Counts the points of 800,000 at which a form of atanh(hypot(0.1, cos(b)^2)) breaks bounded(2), element by element.
/// Correct values are libm's in long double. The bound by hand, in halves of an ulp of 1: the cosine may be off by 4 of
/// itself, its square by 8 and 2, the hypotenuse by a share of these and 4, the result by 4 and an ulp of slack each
/// way; atanh has the slope 1 / (1 - h^2).
int points_broken(const char* form) {
  constexpr std::size_t kPoints = 800'000;
  constexpr long double kHalfUlp = 0x1p-53L;
  const auto kernel = expr::lower(parsed(form, {"b"}, {{-10, 0.001}}), kHow);
  CHECK(kernel.ok());
  Random random(17);
  std::vector<double> b(kPoints), got(kPoints);
  for (double& x : b) x = 0.001 - 10.001 * random.unit();
  const void* in[] = {b.data()};
  void* out[] = {got.data()};
  kir::Plan::prepare(*kernel).run(kPoints, in, out, nullptr);
  int broken = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const long double cosine = std::cos(static_cast<long double>(b[i])), square = cosine * cosine;
    const long double h = std::hypot(static_cast<long double>(0.1), square), correct = std::atanh(h);
    const long double moved = h * (10 * square * square / (h * h) + 4) * kHalfUlp;
    if (!(h + moved < 1) || !std::isfinite(got[i])) continue;
    const long double bound = std::atanh(h + moved) - correct + (4 + 4) * kHalfUlp * correct;
    broken += std::fabs(got[i] - correct) > bound ? 1 : 0;
  }
  return broken;
}

// Errors are great near a pole of a function of a reduction's result, and too few calls are drawn to meet it. Away from
// it the policy's two ulp cover them.
TEST(Parts, WhatIsMadeOfReductionsIsExploredToItsPoles) {
  const std::string little = "*1.0000000000000004", much = "*1.0000000000000018";  // by 2 and 8 ulp of 1
  const auto made = [](const std::string& b, const std::string& factor) {
    return "atanh(hypot(0.1, cos(" + b + ")^2)" + factor + ")";
  };
  EXPECT_EQ(points_broken(made("b", "").c_str()), 0);
  EXPECT_EQ(points_broken(made("b", little).c_str()), 0);
  EXPECT_GT(points_broken(made("b", much).c_str()), 0);
  const std::string least = "minof(abs(b))", source = made(least, "");
  struct Pole {
    std::string source, form;
    bool same;
  };
  const Pole kPoles[] = {
      {source, made(least, little), true},
      {source, made(least, much), false},
      {source, "atanh(hypot(cos(minof(abs(b)))^2, 0.1))", true},
      {"sum(" + made("b", "") + ")", "sum(" + made("b", much) + ")", false},
      // Reductions that the source lacks.
      {source + " + 0 * sum(2 * b)", made(least, much) + " + 0 * sum(b)", false},
      // No pole.
      {"log(sum(exp(b))) / sqrt(dot(b, b) + 1e-5)", "log(sum(exp(b))) * rsqrt(dot(b, b) + 1e-5)", true},
  };
  for (const Pole& pole : kPoles) {
    SCOPED_TRACE(pole.form);
    const auto verdict = check_parts(parsed(pole.source, {"b"}, {{-10, 0.001}}),
                                     parsed(pole.form, {"b"}, {{-10, 0.001}}), kHow, CheckOptions{});
    ASSERT_TRUE(verdict.ok()) << verdict.error().message;
    EXPECT_EQ(verdict->same(), pole.same) << print(*verdict);
  }
}

// In a call of no elements, a sum less itself is one zero; a constant array output has no elements.
TEST(Parts, AnOutputStaysOneOrAnArray) {
  const auto verdict =
      check_parts(parsed("sum(x) - sum(x)", {"x"}, {{0, 1}}), parsed("x - x", {"x"}, {{0, 1}}), kHow, CheckOptions{});
  ASSERT_TRUE(verdict.ok());
  EXPECT_FALSE(verdict->same());
}

TEST(Parts, ReductionsOverTooManyArraysAreRefused) {
  std::vector<std::string> names;
  std::string sum, sums;
  for (int i = 0; i < 30; ++i) {
    names.push_back("v" + std::to_string(i));
    sum += (i > 0 ? " + " : "") + names.back();
    sums += (i > 0 ? " + sum(" : "sum(") + names.back() + ")";
  }
  const std::vector<Range> ranges(names.size(), {1, 2});
  const auto verdict =
      check_parts(parsed(sums, names, ranges), parsed("sum(" + sum + ")", names, ranges), kHow, CheckOptions{});
  ASSERT_TRUE(verdict.ok());
  EXPECT_NE(print(*verdict).find("over too many arrays"), std::string::npos) << print(*verdict);
}

TEST(Parts, ARefusalSaysWhatTheVariablesStandFor) {
  const Case& c = kCases[0];
  const auto verdict =
      check_parts(parsed(c.source, c.names, c.ranges), parsed(c.form, c.names, c.ranges), kHow, CheckOptions{});
  ASSERT_TRUE(verdict.ok());
  ASSERT_FALSE(verdict->same());
  EXPECT_NE(print(*verdict).find("p1 is "), std::string::npos) << print(*verdict);
}

// More masks than are checked, or than there may be variables: the careless part may be behind the last of them.
TEST(Parts, WhatIsTooMuchToLookAtIsRefused) {
  for (const int masks : {25, 80}) {
    std::string common;
    for (int i = 0; i < masks; ++i) {
      const std::string n = std::to_string(i);
      common += "f64(abs(t - 0." + n + "1) < 1e-6 && abs(u - 0." + n + "3) < 1e-6) * " + n + " + ";
    }
    const std::vector<std::string> names = {"t", "u", "k", "x", "y"};
    const std::vector<Range> ranges = {{0, 1}, {0, 1}, {0, 100}, {-1, 1}, {-1, 1}};
    const expr::Expr source = parsed(common + "(k == 7) * (expm1(x) / x) + exp(x) * y", names, ranges);
    const expr::Expr form = parsed(common + "(k == 7) * ((exp(x) - 1) / x) + exp(x) * y", names, ranges);
    const auto verdict = check_parts(source, form, kHow, CheckOptions{});
    ASSERT_TRUE(verdict.ok()) << verdict.error().message;
    EXPECT_FALSE(verdict->same()) << masks;
  }
}

// Hundreds of parts, each of a few operations: every one is compared, and one careless one among them is found.
TEST(Parts, LargeFormsAreComparedPartByPart) {
  constexpr int kTerms = 100;
  const auto sum_of = [](const std::function<std::string(int)>& term) {
    std::string text;
    for (int i = 0; i < kTerms; ++i) text += (i > 0 ? " + " : "") + term(i);
    return text;
  };
  const auto number = [](int i) { return std::to_string(i + 1) + ".5"; };
  const std::string source = sum_of([&](int i) {
    return i == 60 ? std::string("(k == 7) * (expm1(x) / x)")
                   : "sqrt(x + " + number(i) + ")*(x*y + x*" + number(i) + ")";
  });
  const auto form = [&](const char* masked, const char* factor) {
    return sum_of([&](int i) {
      const std::string root = "sqrt(x + " + number(i) + ")*x*";
      return i == 60 ? masked : root + (i == 30 ? factor : "(y + " + number(i) + ")");
    });
  };
  struct Large {
    std::string form;
    bool same;
  };
  const Large kLarge[] = {{form("(k == 7) * (expm1(x) / x)", "(y + 31.5)"), true},
                          {form("(k == 7) * ((exp(x) - 1) / x)", "(y + 31.5)"), false},
                          {form("(k == 7) * (expm1(x) / x)", "(y + 31.500001)"), false}};
  const std::vector<std::string> names = {"x", "y", "k"};
  const std::vector<Range> ranges = {{1e-9, 1}, {1, 2}, {0, 100}};
  for (const Large& large : kLarge) {
    const auto verdict =
        check_parts(parsed(source, names, ranges), parsed(large.form, names, ranges), kHow, CheckOptions{});
    ASSERT_TRUE(verdict.ok()) << verdict.error().message;
    EXPECT_EQ(verdict->same(), large.same) << print(*verdict);
  }
}

/// A product of 200 factors (1 + a x) - b y, as written or contracted; in one a constant may be off by `error`.
std::string product_of_factors(bool contracted, double error) {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    char factor[120];
    const double a = (i * 37 % 100 - 50) * 4e-4 + (i == 150 ? error : 0), b = (i * 61 % 100 - 50) * 4e-4;
    if (contracted)
      std::snprintf(factor, sizeof factor, "fma(%.17g, y, fma(%.17g, x, 1))", b, a);
    else
      std::snprintf(factor, sizeof factor, "(1 + %.17g*x + %.17g*y)", a, b);
    text += (i == 0 ? "" : "*") + std::string(factor);
  }
  return text;
}

// Each factor is a part of its own, so there are as many checks as steps.
TEST(Parts, EachOf200FactorsMayBeContracted) {
  const std::vector<std::string> names = {"x", "y"};
  const std::vector<Range> ranges = {{-1, 1}, {-1, 1}};
  const expr::Expr source = parsed(product_of_factors(false, 0), names, ranges);
  for (const double error : {0.0, 1e-9}) {
    const auto verdict =
        check_parts(source, parsed(product_of_factors(true, error), names, ranges), kHow, CheckOptions{});
    ASSERT_TRUE(verdict.ok()) << verdict.error().message;
    EXPECT_EQ(verdict->same(), error == 0) << print(*verdict);
  }
}

TEST(Parts, EndsWhenCancelled) {
  const Case& c = kCases[0];
  CheckOptions options;
  options.cancelled = [] { return true; };
  const auto verdict =
      check_parts(parsed(c.source, c.names, c.ranges), parsed(c.form, c.names, c.ranges), kHow, options);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().code, ErrorCode::kCancelled);
}

// Comparisons for cuts are asked between, too; that they end is no answer about the form.
TEST(Parts, AnswersNothingWhereverItIsCancelled) {
  const Case& c = kCases[0];
  bool done = false;
  for (int left = 1; !done; left = left * 5 / 4 + 1) {
    int asked = 0;
    CheckOptions options;
    options.cancelled = [&] { return asked++ >= left; };
    const auto verdict =
        check_parts(parsed(c.source, c.names, c.ranges), parsed(c.form, c.names, c.ranges), kHow, options);
    done = asked <= left;
    EXPECT_EQ(verdict.ok(), done) << left;
    if (!verdict.ok()) {
      EXPECT_EQ(verdict.error().code, ErrorCode::kCancelled);
    }
  }
}

// The oracle is a check that knows no other's verdicts.
TEST(Parts, KnownVerdictsAreThoseOfAFreshCheck) {
  PartVerdicts known;
  std::vector<expr::LowerOptions> ways(3, kHow);
  ways[1].policy.k = 1000, ways[2].accuracy = kir::math::Accuracy::ulp4;
  for (int round = 0; round < 2; ++round) {
    for (const Case& c : kCases) {
      const expr::Expr source = parsed(c.source, c.names, c.ranges), form = parsed(c.form, c.names, c.ranges);
      for (const expr::LowerOptions& how : ways) {
        const auto alone = check_parts(source, form, how, CheckOptions{});
        const auto with_others = check_parts(source, form, how, CheckOptions{}, known);
        ASSERT_TRUE(alone.ok() && with_others.ok());
        EXPECT_EQ(print(*alone), print(*with_others)) << c.form << ", k " << how.policy.k << ", round " << round;
      }
    }
  }
}

TEST(Probe, DescendsToTheCommonZeroOfSquares) {
  const expr::Expr e =
      parsed("1 / ((a - 0.1)^2 + (b - 2.5)^2 + (c + 7)^2)", {"a", "b", "c"}, {{0, 1}, {0, 5}, {-8, 8}});
  Probe probe(e);
  const expr::NodeId divisor = e.at(e.outputs[0].node).b;
  const Point zero =
      probe.descend({divisor, {}}, {bits_of(Type::f64, 0.9), bits_of(Type::f64, 0.2), bits_of(Type::f64, 4)});
  EXPECT_NEAR(value_of(Type::f64, zero[0]), 0.1, 1e-7);
  EXPECT_NEAR(value_of(Type::f64, zero[1]), 2.5, 1e-7);
  EXPECT_NEAR(value_of(Type::f64, zero[2]), -7, 1e-7);
}

// The interpreter runs arithmetic as it is written, so it is the oracle of values that were computed in part.
TEST(Probe, KnowsEveryValueWhereverItIsMoved) {
  const expr::Expr e = parsed("q = a*b + c; r = floor(q/(1 + b*b)); if(r < c, sqrt(q*q + a), max(q, r)) - a*c",
                              {"a", "b", "c"}, {{0, 4}, {-3, 3}, {-8, 8}});
  Probe probe(e);
  Random random(7);
  Point point(3, 0);
  for (int move = 0; move < 200; ++move) {
    const auto moved = static_cast<std::size_t>(random.below(8));  // the bits say which variables
    for (std::size_t v = 0; v < 3; ++v)
      if (move == 0 || (moved >> v & 1) != 0) point[v] = draw(e.variables[v], Way::uniform, random);
    if (random.below(16) == 0) probe.descend({e.outputs[0].node, {}}, point);  // leaves it anywhere
    probe.look(point);
    for (int asked = 0; asked < 3; ++asked) {
      const expr::NodeId node(static_cast<std::uint32_t>(random.below(e.nodes.size())));
      if (e.at(node).type != Type::f64) continue;
      expr::Expr part = e;
      part.outputs = {{"part", node}};
      std::vector<double> at;
      for (const Bits bits : point) at.push_back(value_of(Type::f64, bits));
      EXPECT_EQ(probe.value(node), value_at(part, at)) << "move " << move << ", node " << node.index;
    }
  }
}

TEST(Probe, StaysInTheRange) {
  const expr::Expr e = parsed("1 / (a + 1)", {"a"}, {{-0.5, 4}});
  Probe probe(e);
  const Point least = probe.descend({e.at(e.outputs[0].node).b, {}}, {bits_of(Type::f64, 3)});
  EXPECT_NEAR(value_of(Type::f64, least[0]), -0.5, 1e-7);
  EXPECT_GE(value_of(Type::f64, least[0]), -0.5);
}

}  // namespace
}  // namespace trident::equiv
