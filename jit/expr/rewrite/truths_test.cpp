// Comparisons with a known result: of constants, and of values whose intervals do not overlap. Oracle: arithmetic by
// hand, and IEEE 754, by which every comparison with NaN but != is false.
#include <gtest/gtest.h>

#include <algorithm>

#include "jit/expr/rewrite/costs.h"
#include "jit/expr/rewrite/rewrite.h"
#include "jit/expr/rewrite/rules.h"

namespace trident::expr::rewrite {
namespace {

Variable range(const char* name, double lo, double hi) {
  return {name, Type::f64, VariableKind::array, lo, hi};
}

// Returns the outputs without the declarations of variables.
std::string outputs_of(const Expr& e) {
  const std::string text = print_infix(e);
  const std::size_t declared = text.find(";\n");
  return declared == std::string::npos ? text : text.substr(declared + 2);
}

struct Case {
  const char* text;
  std::vector<Variable> variables;
  const char* result;  ///< the expected result; null: unchanged
};

void expect_results(PolicyKind policy, std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    ParseOptions parse;
    parse.variables = c.variables;
    const Result<Expr> source = parse_sexpr(c.text, parse);
    ASSERT_TRUE(source.ok()) << source.error().message;
    RewriteOptions options;
    options.policy.kind = policy;
    options.keep = 1;
    const Result<Rewritten> found = rewrite(*source, options);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_NE(found->stats.stop, egraph::Stop::contradiction) << c.text;
    const Expr& form = found->forms.empty() ? *source : found->forms.front();
    const Result<Expr> wanted = c.result == nullptr ? source : parse_sexpr(c.result, parse);
    ASSERT_TRUE(wanted.ok()) << wanted.error().message;
    EXPECT_EQ(outputs_of(*wanted), outputs_of(form)) << c.text;
  }
}

TEST(Truths, OfConstants) {
  for (const PolicyKind policy : {PolicyKind::exact, PolicyKind::bounded, PolicyKind::fast})
    expect_results(policy, {{"(select (le 0 0) x (neg x))", {}, "x"},
                            {"(select (lt 0 0) x (neg x))", {}, "(neg x)"},
                            {"(select (gt 2 1) x y)", {}, "x"},
                            {"(select (ge 1 2) x y)", {}, "y"},
                            {"(select (eq 0.5 0.5) x y)", {}, "x"},
                            {"(select (ne 0.5 0.5) x y)", {}, "y"},
                            {"(select (eq 0 -0.0) x y)", {}, "x"},
                            {"(select (and (lt 0 1) (lt x y)) x z)", {}, "(select (lt x y) x z)"},
                            {"(select (and (lt x y) (lt 1 0)) x z)", {}, "z"},
                            {"(select (or (lt x y) (lt 0 1)) x z)", {}, "x"},
                            {"(select (or (lt 1 0) (lt x y)) x z)", {}, "(select (lt x y) x z)"},
                            {"(select (xor (lt 1 0) (lt x y)) x z)", {}, "(select (lt x y) x z)"},
                            {"(select (xor (lt 0 1) (lt x y)) x z)", {}, "(select (lt x y) z x)"},
                            {"(select (not (not (lt x y))) x z)", {}, "(select (lt x y) x z)"}});
}

TEST(Truths, OfIntervals) {
  for (const PolicyKind policy : {PolicyKind::exact, PolicyKind::bounded, PolicyKind::fast})
    expect_results(policy, {{"(select (lt x y) x z)", {range("x", 1, 2), range("y", 3, 4)}, "x"},
                            {"(select (lt x y) x z)", {range("x", 1, 3), range("y", 3, 4)}, nullptr},
                            {"(select (le x y) x z)", {range("x", 1, 3), range("y", 3, 4)}, "x"},
                            {"(select (eq x y) x z)", {range("x", 1, 2), range("y", 3, 4)}, "z"},
                            {"(select (lt 0 x) x (neg x))", {range("x", 1, 9)}, "x"},
                            {"(select (le 0 (abs x)) x z)", {range("x", -9, 9)}, "x"}});
}

// A value that may be NaN is not known to be above anything, but it is known not to be below.
TEST(Truths, OfWhatMayBeNaN) {
  for (const PolicyKind policy : {PolicyKind::exact, PolicyKind::bounded, PolicyKind::fast})
    expect_results(policy, {{"(select (lt (sqrt x) -1) y z)", {}, "z"},
                            {"(select (lt -1 (sqrt x)) y z)", {}, nullptr},
                            {"(select (ne (sqrt x) -1) y z)", {}, "y"},
                            {"(select (lt -1 (sqrt x)) y z)", {range("x", 0, 9)}, "y"}});
}

// 0.1 * 3 is above 0.3 in doubles, and by the rounding of 0.1 alone.
TEST(Truths, ThatRoundingDecidesAreKnownOfBitsOnly) {
  expect_results(PolicyKind::exact, {{"(select (le (mul 0.1 3) 0.3) y z)", {}, "z"}});
  RewriteOptions fast;
  fast.policy.kind = PolicyKind::fast;
  const Result<Expr> source = parse_sexpr("(select (le (mul 0.1 3) 0.3) y z)", {});
  ASSERT_TRUE(source.ok());
  const Result<Rewritten> found = rewrite(*source, fast);
  ASSERT_TRUE(found.ok());
  for (const Expr& form : found->forms) EXPECT_NE(print_infix(form).find("select"), std::string::npos);
}

Expr parsed(const char* text, const std::vector<Variable>& variables) {
  ParseOptions parse;
  parse.variables = variables;
  Result<Expr> source = parse_sexpr(text, parse);
  CHECK(source.ok());
  return std::move(source).value();
}

double cost(const Expr& e) {
  return cost_of(e, RewriteOptions{}.costs)->tree;
}
double cost(const char* text, const std::vector<Variable>& variables) {
  return cost(parsed(text, variables));
}
/// The cost of the cheapest form that a search finds.
double least_cost(const char* text, const std::vector<Variable>& variables, PolicyKind policy) {
  const Expr source = parsed(text, variables);
  RewriteOptions options;
  options.policy.kind = policy;
  options.objective = egraph::Objective::tree;
  const Result<Rewritten> found = rewrite(source, options);
  CHECK(found.ok());
  return found->forms.empty() ? cost(source) : std::min(cost(source), cost(found->forms.front()));
}

// min and max take the other operand of NaN, so identities between them hold of numbers alone. Without ranges both
// operands may be NaN, and dropping one of them makes NaN of a number, or a number of NaN.
TEST(Truths, ThatHoldOfNumbersNeedNumbers) {
  const std::vector<Variable> none, ranges = {range("a", 1, 2), range("b", 0, 4), range("c", -1, 9), range("d", 0, 1)};
  struct Identity {
    const char *text, *result;
  };
  for (const Identity& each : {Identity{"(max (min a c) (min (min a c) (max b d)))", "(min a c)"},
                               {"(add (max a b) (min a b))", "(add a b)"},
                               {"(sub (add (min a c) (max b d)) (min a c))", "(max b d)"},
                               {"(max (add a b) (add c b))", "(add (max a c) b)"},
                               {"(add (mul (sin a) (sin a)) (mul (cos a) (cos a)))", "1"},
                               {"(min (max b a) (max b c))", "(max b (min a c))"}}) {
    EXPECT_GT(least_cost(each.text, none, PolicyKind::bounded), 1e-6 + cost(each.result, none)) << each.text;
    EXPECT_LE(least_cost(each.text, ranges, PolicyKind::bounded), cost(each.result, ranges)) << each.text;
    EXPECT_LE(least_cost(each.text, none, PolicyKind::fast), cost(each.result, none)) << each.text;
  }
}

// 1^NaN and NaN^0 are 1, so powers are exponentials where the base is a constant other than 1, or the exponent is one
// other than 0, whatever the other operand is.
TEST(Truths, PowersOfAConstantNeedNoNumbers) {
  struct Identity {
    const char *text, *result;
  };
  for (const Identity& each : {Identity{"(pow 2.718281828459045 x)", "(exp x)"},
                               {"(pow 10 x)", "(exp (mul 2.302585092994046 x))"},
                               {"(pow (exp x) 3.7)", "(exp (mul 3.7 x))"},
                               {"(log (pow (exp2 x) 3.7))", "(mul 3.7 (log (exp2 x)))"},
                               {"(pow (pow (exp2 x) y) 3.7)", "(pow (exp2 x) (mul 3.7 y))"}})
    EXPECT_LE(least_cost(each.text, {}, PolicyKind::bounded), cost(each.result, {})) << each.text;
  for (const Identity& each : {Identity{"(pow (exp x) y)", "(exp (mul x y))"},
                               {"(log (pow (exp2 x) y))", "(mul y (log (exp2 x)))"},
                               {"(mul (pow (exp2 x) z) (pow (exp2 y) z))", "(pow (mul (exp2 x) (exp2 y)) z)"}})
    EXPECT_GT(least_cost(each.text, {}, PolicyKind::bounded), cost(each.result, {})) << each.text;
}

// A rule of a user's that says of itself that it is false of NaN is for `fast`, which promises nothing there.
TEST(Truths, RulesThatAreFalseOfNanAreForFast) {
  const auto set = parse_rules("absorb: (max ?a (min ?a ?b)) => ?a ;; ieee=nan real=ok\n", "own.rules");
  ASSERT_TRUE(set.ok());
  for (const PolicyKind kind : {PolicyKind::exact, PolicyKind::bounded, PolicyKind::fast})
    EXPECT_EQ(allowed(*set, {.kind = kind})[0], kind == PolicyKind::fast);
}

}  // namespace
}  // namespace trident::expr::rewrite
