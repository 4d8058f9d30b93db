// Oracle: MPFR. Every form that the search offers has the source's value over the reals.
#include "jit/expr/rewrite/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "jit/expr/builder.h"
#include "jit/expr/rewrite/guides.h"
#include "jit/expr/rewrite/steps.h"
#include "jit/kir/interpreter.h"
#include "tests/support/mpfr_evaluator.h"

namespace trident::expr::rewrite {
namespace {

const char* const kTexts[] = {
    "(x+y)*(x-y)",
    "a*b + a*c",
    "sin(x)*sin(x) + cos(x)*cos(x) + x",
    "1/sqrt(x*x + y*y)",
    "(exp(x) - exp(-x))/2",
    "1 + 2*x + 3*x*x + 4*x*x*x + 5*x*x*x*x",
    "x*x + 2*x*y + y*y + z",
    "((x-a)/(b-a))*((x-a)/(b-a))*(3 - 2*((x-a)/(b-a)))",
    "a + (1-a)*(1-c)^5",
    "x^5 + 5*x^4*y + 10*x^3*y^2 + 10*x^2*y^3 + 5*x*y^4 + y^5",
    "exp(x)/(exp(x)-1)",
    "1/(1+exp(-x))*(1 - 1/(1+exp(-x)))",
    "(cos(a)*x - sin(a)*y)*(cos(a)*x - sin(a)*y) + (sin(a)*x + cos(a)*y)*(sin(a)*x + cos(a)*y)",
    "max(x, y) + min(x, y)*z",
    "a*e*i + b*f*g + c*d*h - c*e*g - b*d*i - a*f*h",
    "sqrt(abs(x))*sqrt(abs(x))",
    "x/y + z/y",
    "tanh(x)*tanh(x) + 1/(cosh(x)*cosh(x))",
    "log(exp(x)*exp(y))",
    "(x < y ? x : y) + abs(-z)",
    "s = sin(x); c = cos(x); (s*c*2, c*c - s*s)",
    "a*c + a*d + b*c + b*d",
    "(exp(x) + y/x)/x",
    "1/x * (sin(1/x) + y/x)",
    "a*a*c + a*a*d + 3*b*b*c + 3*b*b*d + e*c + e*d",
    "1/(1 + exp(-min(-50.0, x*x)))",
};

void expect_same_value(const Expr& source, const Expr& form, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  int compared = 0;
  for (int i = 0; i < 60; ++i) {
    std::vector<double> at;
    for (std::size_t v = 0; v < source.variables.size(); ++v) {
      const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
      const double magnitude = std::exp(std::log(0.01) + unit * std::log(1000.0));
      at.push_back(random() % 2 == 0 ? magnitude : -magnitude);
    }
    const auto expected = testing::evaluate_real(source, at, 300), actual = testing::evaluate_real(form, at, 300);
    ASSERT_EQ(expected.size(), actual.size());
    for (std::size_t o = 0; o < expected.size(); ++o) {
      if (!std::isfinite(expected[o])) continue;
      ++compared;
      // Constants are folded in double.
      ASSERT_LE(std::fabs(expected[o] - actual[o]), 1e-12L * (1 + std::fabs(expected[o])))
          << print_infix(source) << "  became  " << print_infix(form);
    }
  }
  EXPECT_GT(compared, 10) << print_infix(source);
}

TEST(Rewrite, FormsMeanTheSameOverTheReals) {
  int forms = 0;
  for (const char* text : kTexts) {
    const Result<Expr> source = parse_infix(text);
    ASSERT_TRUE(source.ok()) << text;
    for (const egraph::Strategy strategy : {egraph::Strategy::best_first, egraph::Strategy::hostile}) {
      RewriteOptions options;
      options.strategy = strategy;
      options.budget.graph_nodes = 4'000;
      const Result<Rewritten> found = rewrite(*source, options);
      ASSERT_TRUE(found.ok());
      EXPECT_NE(found->stats.stop, egraph::Stop::contradiction) << text;
      for (const Expr& form : found->forms) {
        ASSERT_TRUE(check(form).ok());
        ASSERT_NO_FATAL_FAILURE(expect_same_value(*source, form, 7));
        ++forms;
      }
    }
  }
  EXPECT_GT(forms, 30);
}

// All guides give correct forms.
TEST(Rewrite, GuidesChangeTimeAndNeverResults) {
  for (const GuideKind kind :
       {GuideKind::network, GuideKind::cost, GuideKind::constant, GuideKind::random, GuideKind::hostile}) {
    const Result<AnyGuide> guide = AnyGuide::make(kind);
    ASSERT_TRUE(guide.ok()) << guide.error().message;
    int forms = 0;
    for (const char* text : kTexts) {
      const Result<Expr> source = parse_infix(text);
      ASSERT_TRUE(source.ok()) << text;
      RewriteOptions options;
      options.strategy = egraph::Strategy::guided;
      options.guide = guide->get();
      options.budget.graph_nodes = 3'000;
      const Result<Rewritten> found = rewrite(*source, options);
      ASSERT_TRUE(found.ok());
      EXPECT_NE(found->stats.stop, egraph::Stop::contradiction) << text;
      EXPECT_LE(found->stats.nodes, 3'000u);
      for (const Expr& form : found->forms) {
        ASSERT_TRUE(check(form).ok());
        ASSERT_NO_FATAL_FAILURE(expect_same_value(*source, form, 7));
        ++forms;
      }
    }
    EXPECT_GT(forms, 15);
  }
}

// A value that underflows in double is no zero, one that overflows no number: neither proves anything.
TEST(Rewrite, UnderflowAndOverflowAreNoValues) {
  const auto range = [](const char* name, double lo, double hi) {
    return Variable{name, Type::f64, VariableKind::array, lo, hi};
  };
  struct Case {
    const char* text;
    std::vector<Variable> variables;
  };
  for (const Case& c : {Case{"exp(20000*x - x*x - 1e8)", {range("x", 0, 1e7)}},
                        {"1 / (1 + exp(-200*(x - 5)))", {range("x", -100, 100)}},
                        {"exp(700*x + 100*x)", {range("x", -100, 100)}},
                        {"exp(x - 800)", {range("x", 0, 10)}},
                        {"pow(1e10, x - 40)", {range("x", 0, 1)}},
                        {"exp(x - 800)*exp(y + 795)", {range("x", 0, 10), range("y", 0, 10)}},
                        {"1e308*(10*x)", {range("x", 0, 1)}},
                        {"x*fma(1e-200, 1e-200, 0)*1e300", {range("x", 1, 2)}},
                        {"x*fma(1e-200, 1e-200, 0)*1e300", {}},
                        {"(x*1e-200)*(y*1e-200)*1e300", {range("x", 1, 2), range("y", 1, 2)}}}) {
    const auto source = parse_infix(c.text, {.variables = c.variables});
    ASSERT_TRUE(source.ok());
    for (const auto strategy : {egraph::Strategy::best_first, egraph::Strategy::saturate, egraph::Strategy::hostile}) {
      const auto found = rewrite(*source, {.strategy = strategy});
      ASSERT_TRUE(found.ok());
      EXPECT_NE(found->stats.stop, egraph::Stop::contradiction) << c.text;
      for (const Expr& form : found->forms) {
        const Node& root = form.at(form.outputs[0].node);
        EXPECT_NE(root.op, Op::Constant) << c.text << " became " << print_infix(form);
      }
    }
  }
}

// Terms whose coefficients lose digits stay, a rounded bound is no fact, and no form computes with infinities that the
// source does not have.
TEST(Rewrite, ConstantsOfAnySizesMeanTheSame) {
  for (const char* text :
       {"(1 + 1e-10*x)*(1 + 1e8*x) + x", "fma(1 - 6e-17*x, 2 + 3*x, 5*x)", "(1 + 1.2e-12*x)*(1013.25 + 8.3e6*x) - 17*x",
        "fma((x + x) - (5.7e-10 + x), 1.78*x - 5, (x - 7*x) - (1e9*x - 2.2*x))", "x*tanh(20)", "x < tanh(20) ? x : 2*x",
        "log2(x) + x/(tanh(4503599627370496) + log2(x))", "x + log2(log1p(5e-324))"}) {
    const auto source = parse_infix(text, {.variables = {{"x", Type::f64, VariableKind::array, 1, 2}}});
    ASSERT_TRUE(source.ok()) << text;
    for (const egraph::Strategy strategy :
         {egraph::Strategy::best_first, egraph::Strategy::saturate, egraph::Strategy::pulse, egraph::Strategy::random,
          egraph::Strategy::hostile}) {
      const auto found = rewrite(*source, {.strategy = strategy});
      ASSERT_TRUE(found.ok());
      EXPECT_NE(found->stats.stop, egraph::Stop::contradiction) << text;
      for (const Expr& form : found->forms) {
        for (const double x : {1.0, 1.25, 1.7, 2.0}) {
          const double wanted = static_cast<double>(testing::evaluate_real(*source, {x}, 2000)[0]);
          const auto kernel = lower(form, {.policy = {PolicyKind::exact}, .simplify = false});
          ASSERT_TRUE(kernel.ok());
          double got = 0;
          const void* in[] = {&x};
          void* out[] = {&got};
          kir::interpret(*kernel, 1, in, out, nullptr);
          EXPECT_LE(std::fabs(got - wanted), 1e-9 * std::fabs(wanted)) << text << " became " << print_infix(form);
        }
      }
    }
  }
}

// No form is another one with its sums and products in a different order.
TEST(Rewrite, FormsDifferInTheirOps) {
  for (const char* text :
       {"1 + 2*x + 3*x*x + 4*x*x*x + 5*x*x*x*x", "a*e*i + b*f*g + c*d*h - c*e*g - b*d*i - a*f*h", "(exp(x) + y/x)/x"}) {
    const auto source = parse_infix(text);
    ASSERT_TRUE(source.ok());
    const auto found = rewrite(*source, {});
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found->forms.size(), 3u) << text;
    std::set<std::multiset<Op>> kinds;
    for (const Expr& form : found->forms) {
      std::multiset<Op> ops;
      for (const Node& n : form.nodes) ops.insert(n.op);
      EXPECT_TRUE(kinds.insert(ops).second) << print_infix(form);
    }
  }
}

TEST(Steps, CostLessAndMeanTheSameOverTheReals) {
  std::size_t steps = 0;
  for (const char* text : kTexts) {
    const Result<Expr> source = parse_infix(text);
    ASSERT_TRUE(source.ok()) << text;
    const RewriteOptions options;
    const Steps from(*source, options);
    double before = 0;
    for (const Expr& form : from.cheaper(*source)) {
      const double cost = cost_of(form, options.costs)->dag;
      EXPECT_LT(cost, cost_of(*source, options.costs)->dag) << print_infix(form);
      EXPECT_GE(cost, before) << "the greatest saving first";
      before = cost;
      expect_same_value(*source, form, ++steps);
    }
  }
  EXPECT_GT(steps, 30u);
}

// (x / y) (a / b): joining the quotients saves nothing before the second step.
TEST(Steps, LookBehindOneThatSavesNothing) {
  const Result<Expr> source =
      parse_infix("x / y * a / b", {.variables = {{.name = "y", .lo = 1, .hi = 2}, {.name = "b", .lo = 1, .hi = 2}}});
  ASSERT_TRUE(source.ok());
  const Steps from(*source, RewriteOptions());
  bool one_division = false;
  for (const Expr& form : from.cheaper(*source)) {
    const auto divisions = std::count_if(form.nodes.begin(), form.nodes.end(),
                                         [](const Node& n) { return n.op == Op::Div || n.op == Op::Recip; });
    one_division |= divisions == 1;
  }
  EXPECT_TRUE(one_division);
}

TEST(Rewrite, SameSeedSameForms) {
  const Expr source = parse_infix(kTexts[7]).value();
  const Rewritten first = rewrite(source, {}).value(), second = rewrite(source, {}).value();
  ASSERT_EQ(first.forms.size(), second.forms.size());
  for (std::size_t i = 0; i < first.forms.size(); ++i)
    EXPECT_EQ(canonical_bytes(first.forms[i]), canonical_bytes(second.forms[i]));
  EXPECT_EQ(first.stats.nodes, second.stats.nodes);
}

// Both sides of every step have one value over the reals, and the steps lead to the form that is found without them.
TEST(Rewrite, DerivationsReplayAndEveryStepIsTrue) {
  std::size_t steps = 0;
  for (const char* text : kTexts) {
    SCOPED_TRACE(text);
    const Result<Expr> source = parse_infix(text);
    ASSERT_TRUE(source.ok());
    const auto plain = rewrite(*source, {.keep = 1}), explained = rewrite(*source, {.keep = 1, .explain = true});
    ASSERT_TRUE(plain.ok() && explained.ok());
    ASSERT_EQ(plain->forms.size(), explained->forms.size());
    if (plain->forms.empty()) continue;
    EXPECT_EQ(canonical_bytes(plain->forms[0]), canonical_bytes(explained->forms[0]));
    EXPECT_FALSE(explained->replay_fault) << *explained->replay_fault;
    EXPECT_FALSE(explained->derivation.empty());
    for (const DerivationStep& step : explained->derivation) {
      ++steps;
      std::vector<double> at;
      for (std::size_t v = 0; v < step.sides.variables.size(); ++v) at.push_back(0.3 + 0.7 * static_cast<double>(v));
      const auto values = testing::evaluate_real(step.sides, at, 300);
      if (!std::isfinite(values[0]) || !std::isfinite(values[1])) continue;
      EXPECT_LE(std::fabs(values[0] - values[1]), 1e-12L * (1 + std::fabs(values[0])))
          << step.rule << ": " << print_infix(step.sides);
    }
  }
  EXPECT_GT(steps, 50u);
}

// Values that are known through an equal form, in a graph that has no room for the constant, and -0 where a rule says
// 0; values that are NaN, and an angle whose value one operand alone decides.
TEST(Rewrite, DerivationsThroughKnownValuesReplay) {
  for (const char* text :
       {"sin(x) / cos(x) + cos(x) / sin(x + 3)", "diff(x^3 * exp(-x), x)", "diff(x / (x^2 + y^2), x)",
        "abs(tan(10))*cosh(y - 10 + asin(3))", "erf(hypot(cosh(x + 1), 2))*acos(100)*x*y*2",
        "atan2(0.5 - 0.5, pow(0.5, y)) + recip(min(10, 10))"}) {
    const std::vector<Variable> variables = {{"x", Type::f64, VariableKind::array, 0.1, 1},
                                             {"y", Type::f64, VariableKind::array, 1, 2}};
    const Result<Expr> source = parse_infix(text, {.variables = variables});
    ASSERT_TRUE(source.ok());
    for (const std::uint32_t nodes : {300u, 700u, 2000u, 5000u}) {
      RewriteOptions options{.keep = 1, .explain = true};
      options.budget.nodes = nodes;
      const auto explained = rewrite(*source, options);
      ASSERT_TRUE(explained.ok());
      EXPECT_FALSE(explained->replay_fault) << text << " " << nodes << ": " << *explained->replay_fault;
    }
  }
}

// Work done once per call moves out of the loop; it must be known to be uniform, or it stays.
TEST(Rewrite, UniformFactorsLeaveReductions) {
  const auto best = [](std::string_view text, std::vector<Variable> variables) {
    const auto source = parse_infix(text, {.type = Type::f64, .variables = std::move(variables)});
    CHECK(source.ok());
    const auto found = rewrite(*source, {.policy = {PolicyKind::bounded, 2}});
    CHECK(found.ok());
    return print_infix(found->forms.empty() ? *source : found->forms.front());
  };
  const std::vector<Variable> scalar = {{"x"}, {.name = "p", .kind = VariableKind::scalar}}, array = {{"x"}, {"p"}};
  EXPECT_NE(best("sum(p * exp(x))", scalar).find("p * sum(exp(x))"), std::string::npos);
  EXPECT_EQ(best("sum(p * exp(x))", array).find("* sum("), std::string::npos);
  EXPECT_NE(best("sum(2 * x) + sum(2 * p)", array).find("sum("), std::string::npos);
  // A result that is zero stays one value.
  EXPECT_NE(best("sum(x) - sum(x)", scalar).find("sum"), std::string::npos);
}

// The numbers of products are those that a hand count finds.
TEST(Rewrite, ProductsAndOutputsShareFactors) {
  const auto products = [](const char* text, const Policy& policy) {
    const auto source = parse_infix(text);
    CHECK(source.ok());
    const auto found = rewrite(*source, {.policy = policy});
    CHECK(found.ok());
    const Expr& best = found->forms.empty() ? *source : found->forms.front();
    return std::count_if(best.nodes.begin(), best.nodes.end(), [](const Node& n) { return n.op == Op::Mul; });
  };
  const Policy bounded{PolicyKind::bounded, 2}, exact{PolicyKind::exact, 0};
  EXPECT_EQ(3, products("(x*y*z, x*w*z)", bounded));         // x z serves both outputs
  EXPECT_EQ(3, products("x*y*z*w + x*v*z*w", bounded));      // (y + v) x z w
  EXPECT_EQ(1, products("a*c + a*d + b*c + b*d", bounded));  // (a + b)(c + d)
  EXPECT_EQ(4, products("(x*y*z, x*w*z)", exact));
  EXPECT_EQ(1, products("(x*y + 1, x*y + 2)", exact));  // the same product of the text is computed once
}

// f64 arithmetic on f32 values that ends in f32 needs no f64; values not known to be f32 stay.
TEST(Rewrite, PrecisionThatIsNotNeededGoes) {
  const auto best = [](Type type) {
    const auto source = parse_infix("f32(f64(x) * f64(y)) - f32(max(f64(x), f64(y)))",
                                    {.type = type, .variables = {{"x", type}, {"y", type}}});
    CHECK(source.ok());
    const auto found = rewrite(*source, {.policy = {PolicyKind::bounded, 2}});
    CHECK(found.ok());
    const Expr& form = found->forms.empty() ? *source : found->forms.front();
    return std::count_if(form.nodes.begin(), form.nodes.end(), [](const Node& n) { return n.op == Op::Cast; });
  };
  EXPECT_EQ(best(Type::f32), 0);
  EXPECT_GT(best(Type::f64), 0);
}

// A value that is cast to f32 and back is that of an f32: no identity of f32 arithmetic holds of it to more digits.
TEST(Rewrite, CastsToF32AndBackStay) {
  struct Case {
    const char* text;
    double (*value)(double x, double y);
  };
  const auto narrow = [](double v) { return static_cast<double>(static_cast<float>(v)); };
  static const auto rounded = narrow;
  const Case cases[] = {
      {"f64(f32(x / y))", [](double x, double y) { return rounded(x / y); }},
      {"f64(f32(x + 0.1))", [](double x, double) { return rounded(x + 0.1); }},
      {"f64(f32(x / 0.1))", [](double x, double) { return rounded(x / 0.1); }},
      {"f64(f32(x + f64(f32(0.1))))", [](double x, double) { return rounded(x + rounded(0.1)); }},
      {"f64(abs(f32(x - y)))*2", [](double x, double y) { return std::fabs(rounded(x - y)) * 2; }},
      {"f64(-min(f32(x*y), f32(y)))", [](double x, double y) { return -std::fmin(rounded(x * y), rounded(y)); }},
      {"f64(f32(tanh(x)))", [](double x, double) { return rounded(std::tanh(x)); }},
  };
  std::size_t forms = 0;
  for (const Case& c : cases) {
    const auto source = parse_infix(c.text, {.variables = {{"x"}, {"y"}}});
    ASSERT_TRUE(source.ok()) << source.error().message;
    for (const PolicyKind policy : {PolicyKind::bounded, PolicyKind::fast}) {
      for (const auto strategy : {egraph::Strategy::best_first, egraph::Strategy::hostile}) {
        const auto found = rewrite(*source, {.policy = {policy}, .strategy = strategy});
        ASSERT_TRUE(found.ok());
        EXPECT_NE(found->stats.stop, egraph::Stop::contradiction) << c.text;
        for (const Expr& form : found->forms) {
          ++forms;
          std::mt19937_64 random(7);
          std::uniform_real_distribution<double> draw(0.1, 3);
          std::size_t off = 0;
          for (int i = 0; i < 100; ++i) {
            std::vector<double> at = {draw(random), draw(random)};
            const double wanted = c.value(at[0], at[1]);
            at.resize(form.variables.size());
            const auto got = static_cast<double>(testing::evaluate_real(form, at, 200, testing::Casts::rounding)[0]);
            off += std::fabs(got - wanted) > 1e-12 * std::fabs(wanted) ? 1 : 0;
          }
          EXPECT_EQ(off, 0u) << c.text << " became " << print_infix(form);
        }
      }
    }
  }
  EXPECT_GT(forms, 4u);  // terms below such a cast are rewritten
  // A sum of two f32 in f64, rounded, equals their sum in f32.
  const auto sum = parse_infix("f64(f32(f64(f32(x)) + f64(f32(y))))", {.variables = {{"x"}, {"y"}}});
  ASSERT_TRUE(sum.ok());
  const auto found = rewrite(*sum, {.policy = {PolicyKind::bounded}});
  ASSERT_TRUE(found.ok() && !found->forms.empty());
  EXPECT_NE(print_infix(found->forms.front()).find("f64(f32(x) + f32(y))"), std::string::npos);
}

TEST(Rewrite, WhatIsAPoleEverywhereIsNoNumber) {
  for (const char* text : {"x + f64(y < y)^-2", "x*(1/f64(y < y))", "x + log(f64(y < y))"}) {
    const auto source = parse_infix(text);
    ASSERT_TRUE(source.ok());
    const auto found = rewrite(*source, {.policy = {PolicyKind::bounded}});
    ASSERT_TRUE(found.ok());
    EXPECT_NE(found->stats.stop, egraph::Stop::contradiction) << text;
  }
}

// The folded value of f32 constants is no constant of f32: it is rounded once, when it leaves the graph, and the search
// continues.
TEST(Rewrite, ConstantsOfF32AreRoundedOnce) {
  const auto source = parse_infix("(x * 0.7) * (y * 0.3) * 1.1",
                                  {.type = Type::f32, .variables = {{"x", Type::f32}, {"y", Type::f32}}});
  ASSERT_TRUE(source.ok());
  for (const auto strategy : {egraph::Strategy::best_first, egraph::Strategy::saturate, egraph::Strategy::pulse}) {
    const auto found = rewrite(*source, {.strategy = strategy});
    ASSERT_TRUE(found.ok());
    EXPECT_NE(found->stats.stop, egraph::Stop::contradiction);
    ASSERT_FALSE(found->forms.empty());
    std::vector<double> constants;
    for (const Node& n : found->forms.front().nodes)
      if (n.op == Op::Constant) constants.push_back(value_of(n.type, n.imm));
    const float once = static_cast<float>(1.0 * 0.7f * 0.3f * 1.1f);
    ASSERT_NE(once, 0.7f * 0.3f * 1.1f) << "in steps it would be another one";
    EXPECT_EQ(constants, std::vector<double>{once});
  }
}

// 1e-48 is no f32: the graph holds it as it is, but it would leave the graph as 0.
TEST(Rewrite, ConstantsThatVanishInF32AreNoForms) {
  const auto source = parse_infix("pow(pow(1e-6, 4), y) * pow(pow(1e-6, 4), y)",
                                  {.type = Type::f32, .variables = {{"y", Type::f32, VariableKind::array, 0, 1}}});
  ASSERT_TRUE(source.ok()) << source.error().message;
  // Constants cost nothing, every other op its number: the form with one power is the cheapest.
  const auto cost = [](const void*, const egraph::ENode& node, std::uint8_t) {
    return info(static_cast<Op>(node.op)).signature == Signature::Leaf ? 0.0 : 1.0;
  };
  std::size_t forms = 0;
  for (const auto strategy : {egraph::Strategy::best_first, egraph::Strategy::saturate, egraph::Strategy::hostile}) {
    RewriteOptions options{.policy = {PolicyKind::fast}, .strategy = strategy};
    options.costs = {.context = nullptr, .cost = cost};
    const auto found = rewrite(*source, options);
    ASSERT_TRUE(found.ok());
    forms += found->forms.size();
    for (const Expr& form : found->forms)
      for (const Node& n : form.nodes)
        EXPECT_FALSE(n.op == Op::Constant && value_of(n.type, n.imm) == 0) << print_infix(form);
  }
  EXPECT_GT(forms, 0u);
}

// 0.5000000001 - 0.5 is 1e-10 in the graph, and zero where both are f32.
TEST(Rewrite, ConstantsThatCancelInF32AreNoForms) {
  const auto source = parse_infix("(tanh(1e-10), y*0.5)", {.type = Type::f32, .variables = {{"y", Type::f32}}});
  ASSERT_TRUE(source.ok()) << source.error().message;
  // Sums cost nothing: a difference of constants is cheaper than any function.
  const auto cost = [](const void*, const egraph::ENode& node, std::uint8_t) {
    const Op op = static_cast<Op>(node.op);
    return info(op).signature == Signature::Leaf || op == Op::Add || op == Op::Sub ? 0.0 : 1.0;
  };
  for (const auto strategy : {egraph::Strategy::best_first, egraph::Strategy::saturate, egraph::Strategy::hostile}) {
    RewriteOptions options{.policy = {PolicyKind::fast}, .strategy = strategy};
    options.costs = {.context = nullptr, .cost = cost};
    const auto found = rewrite(*source, options);
    ASSERT_TRUE(found.ok());
    for (const Expr& form : found->forms) {
      const kir::Kernel kernel = lower(form, {.policy = {}, .simplify = false}).value();
      const float y = 3;
      float tanh = 0, half = 0;
      const void* in[] = {&y};
      void* out[] = {&tanh, &half};
      kir::interpret(kernel, 1, in, out, nullptr);
      EXPECT_FLOAT_EQ(tanh, 1e-10f) << print_infix(form);
    }
  }
}

// Bounds of products are rounded too: 0.1 * 10 is more than 1, and (1e8 + 1)(1e8 + 3) - 10000000400000002 is 1.
TEST(Rewrite, BoundsOfRoundedProductsDecideNoComparison) {
  struct Case {
    const char* text;
    double lo, hi;
  };
  for (const Case& c :
       {Case{"select(fma(x, 10, -1) <= 0, 1, 2)", 0.05, 0.1}, Case{"select(x*10 - 1 <= 0, 1, 2)", 0.05, 0.1},
        Case{"select(1.5 < fma(x, 100000003, -10000000400000002), 1, 2)", 100000001, 100000001.0000001}}) {
    const auto source = parse_infix(c.text, {.variables = {{"x", Type::f64, VariableKind::array, c.lo, c.hi}}});
    ASSERT_TRUE(source.ok()) << source.error().message;
    for (const PolicyKind policy : {PolicyKind::bounded, PolicyKind::fast}) {
      const auto found = rewrite(*source, {.policy = {policy}});
      ASSERT_TRUE(found.ok());
      EXPECT_NE(found->stats.stop, egraph::Stop::contradiction) << c.text;
      for (const Expr& form : found->forms) {
        const bool reads_x =
            std::any_of(form.nodes.begin(), form.nodes.end(), [](const Node& n) { return n.op == Op::Variable; });
        EXPECT_TRUE(reads_x) << c.text << " became " << print_infix(form);
      }
    }
  }
}

TEST(Rewrite, IntegersAreLeftAlone) {
  ParseOptions options;
  for (const char* name : {"a", "b"}) options.variables.push_back({.name = name, .type = Type::i32});
  // Over the reals a + b - b is a; here abs(-a), min(-a, -b) and the like wrap.
  for (const char* text : {"abs(-a)", "min(-a, -b)", "max(a + b, a - b) - max(a, b)", "(a - b) - (a + b)"}) {
    const Result<Expr> source = parse_infix(text, options);
    ASSERT_TRUE(source.ok()) << text;
    const Result<Rewritten> found = rewrite(*source, {});
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(found->forms.empty()) << text;
  }
}

TEST(Rewrite, ExactPolicyKeepsOrderAndRounding) {
  const Expr source = parse_infix("(x + y) + z - -w").value();
  RewriteOptions options;
  options.policy.kind = PolicyKind::exact;
  const Rewritten found = rewrite(source, options).value();
  for (const Expr& form : found.forms) {
    // Only signs may move: the two sums keep their operands.
    EXPECT_EQ(print_infix(form).find("fma"), std::string::npos) << print_infix(form);
    expect_same_value(source, form, 3);
  }
}

// Chains of products become squarings: every exponent that is multiplied out, odd and even steps of it.
TEST(Rewrite, EveryPowerKeepsItsExponent) {
  for (int n = 2; n <= 15; ++n) {
    std::string chain = "x";
    for (int i = 1; i < n; ++i) chain += "*x";
    const Expr source = parse_infix(chain + "*y + " + chain + "*z").value();
    const Rewritten found = rewrite(source, {.policy = {PolicyKind::fast, 2}}).value();
    ASSERT_FALSE(found.forms.empty()) << n;
    for (const Expr& form : found.forms) ASSERT_NO_FATAL_FAILURE(expect_same_value(source, form, 11)) << n;
  }
}

// A product is nonzero where both factors are, and t/t is 1 only where t is nonzero.
TEST(Rewrite, AQuotientByAProductNeedsBothFactorsNonzero) {
  const Expr source = parse_infix("(x*y)/(x*y)").value();
  const auto becomes_one = [&](std::vector<std::uint32_t> nonzero) {
    RewriteOptions options;
    options.policy.kind = PolicyKind::fast;
    options.nonzero = std::move(nonzero);
    const Rewritten found = rewrite(source, options).value();
    return std::any_of(found.forms.begin(), found.forms.end(),
                       [](const Expr& form) { return form.at(form.outputs[0].node).op == Op::Constant; });
  };
  EXPECT_TRUE(becomes_one({0, 1}));
  EXPECT_FALSE(becomes_one({0}));
  EXPECT_FALSE(becomes_one({1}));
  EXPECT_FALSE(becomes_one({}));
}

// A square is never negative, whatever underflows in it; a product of others may be.
TEST(Rewrite, SquaresAreNotNegative) {
  const auto without = [](const char* text, Op op) {
    const Expr source = parse_infix(text).value();
    const Rewritten found = rewrite(source, {.policy = {PolicyKind::fast, 2}}).value();
    return std::any_of(found.forms.begin(), found.forms.end(), [&](const Expr& form) {
      return std::none_of(form.nodes.begin(), form.nodes.end(), [&](const Node& n) { return n.op == op; });
    });
  };
  EXPECT_TRUE(without("abs(x*x)", Op::Abs));
  EXPECT_TRUE(without("max(x*x, 0)", Op::Max));
  EXPECT_TRUE(without("pow(x*x + y*y, 1.5)", Op::Pow));
  EXPECT_TRUE(without("abs(fma(x, x, y*y))", Op::Abs));
  EXPECT_FALSE(without("abs(x*y)", Op::Abs));
  EXPECT_FALSE(without("max(x*y, 0)", Op::Max));
  EXPECT_FALSE(without("abs(fma(x, x, y))", Op::Abs));
}

TEST(Rules, ErrorsShowTheFileTheLineAndThePlace) {
  const auto message = [](const char* text) {
    const Result<RuleSet> set = parse_rules(text, "lib/mine.rules");
    return set.ok() ? std::string("no error") : set.error().message;
  };
  EXPECT_EQ(message("; mine\n\n  a: (sine ?a) => ?a ;; ieee=round real=ok\n"),
            "lib/mine.rules:3:7: there is no op \"sine\"\n"
            "    a: (sine ?a) => ?a ;; ieee=round real=ok\n"
            "        ^");
  EXPECT_EQ(message("a: (neg ?a) => ?a ;; ieee=loose real=ok").substr(0, 80),
            "lib/mine.rules:1:27: expected \";; ieee=... real=...\" with ieee=exact|zero|nan|ro");
  EXPECT_EQ(message("a: (neg ?a) => ?a ;; ieee=round").substr(0, 76),
            "lib/mine.rules:1:32: expected \";; ieee=... real=...\" with real=ok|guard|part");
  EXPECT_EQ(message("a: (neg ?a) => ?a\nb: (neg ?a) => ?a ;; ieee=round real=ok").substr(0, 21),
            "lib/mine.rules:1:18: ");
  const char* const kTwice = "a: (neg ?a) => ?a ;; ieee=exact real=ok\r\na: (abs ?a) => ?a ;; ieee=exact real=ok\r\n";
  EXPECT_EQ(message(kTwice).substr(0, 48), "lib/mine.rules:2:1: there are two rules \"a\"\n  a:");
  // Nothing is dropped: tags that the policy does not allow exclude a rule.
  const std::string rule = "a: (abs ?a) => ?a ;; ieee=exact real=guard";
  const std::string mend =
      ": unexpected text after the tags: conditions stand before \";;\", a comment begins with \";\"\n";
  for (const char* rest : {" if nonneg(?a)", "\tgarbage", " real=guard", " ieee=round", " ,", "  # why"}) {
    const std::string found = message((rule + rest).c_str());
    const std::size_t column = rule.size() + std::string_view(rest).find_first_not_of(" \t") + 1;
    const std::string expected = "lib/mine.rules:1:" + std::to_string(column) + mend;
    EXPECT_EQ(found.substr(0, expected.size()), expected) << rest;
  }
  EXPECT_EQ(message("a: (neg ?a) => ?a ;; ieee=exact if real=ok").substr(0, 79),
            "lib/mine.rules:1:33: expected \";; ieee=... real=...\" with real=ok|guard|partial");
  EXPECT_EQ(message("a: (neg ?a) => ?a ;; also ieee=exact real=ok").substr(0, 30), "lib/mine.rules:1:22: expected ");
  EXPECT_EQ(message("a: (abs ?a) => ?a ; if nonneg(?a) ;; ieee=exact real=ok").substr(0, 30),
            "lib/mine.rules:1:19: expected ");
  for (const char* comment : {"", " ", " ; why", ";why if pos(?a)", " \r"})
    EXPECT_EQ(message((rule + comment).c_str()), "no error") << comment;
}

TEST(Rules, KnowTheirThemeLineAndTags) {
  const Result<RuleSet> set = parse_rules("\n; c\na: (neg ?a) => ?a ;; real=guard ieee=zero\r\n", "lib/mine.rules");
  ASSERT_TRUE(set.ok()) << set.error().message;
  ASSERT_EQ(set->tags.size(), 1u);
  EXPECT_EQ(set->tags[0].theme, "mine");
  EXPECT_EQ(set->tags[0].line, 3u);
  EXPECT_EQ(name_of(set->tags[0].ieee), "zero");
  EXPECT_EQ(name_of(set->tags[0].real), "guard");
  EXPECT_EQ(meaning_of(Real::ok), "holds for all reals");
}

// Zeros have signs, and functions of constants are the kernel's own. To the last bit, min(x, y) is not min(y, x),
// asinh(0.1) is not libm's value, and a sum in f32 is not the one in f64.
TEST(Rewrite, ExactKeepsTheOrderOfExtremaAndFoldsNothing) {
  RewriteOptions options;
  options.policy.kind = PolicyKind::exact;
  for (const char* text : {"max(y, x) + min(z, y)", "asinh(0.1) + x*0", "hypot(y, x)"}) {
    const auto source = parse_infix(text);
    ASSERT_TRUE(source.ok());
    for (const auto strategy : {egraph::Strategy::best_first, egraph::Strategy::saturate}) {
      options.strategy = strategy;
      const auto found = rewrite(*source, options);
      ASSERT_TRUE(found.ok());
      for (const Expr& form : found->forms) ADD_FAILURE() << text << " became " << print_infix(form);
    }
  }
  options.policy.kind = PolicyKind::bounded;
  EXPECT_FALSE(rewrite(*parse_infix("sqrt(x)*0 + 2*3"), options)->forms.empty()) << "over the reals they are folded";
}

}  // namespace
}  // namespace trident::expr::rewrite
