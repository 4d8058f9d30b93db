#include "jit/expr/rewrite/rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "jit/expr/builder.h"
#include "jit/expr/compact.h"
#include "runtime/base/check.h"
#include "tests/rules/elements.h"
#include "tests/rules/rule_points.h"
#include "tests/support/draws.h"
#include "tests/support/mpfr_evaluator.h"
#include "tests/support/strict_evaluator.h"

namespace trident::expr::rewrite {
namespace {

using testing::has_op;
using testing::side;
using testing::true_at;
using testing::truth_values;
using Sampler = testing::RuleSampler;

using egraph::Condition;
using egraph::ConditionKind;
using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;

/// Points at which a rule is compared.
int points_of_a_rule() {
  return static_cast<int>(testing::draws(2'000));
}
constexpr int kBits = 200;
// Most that are drawn for one at which the left side is a number: a rule that needs more wants a sampler of its own.
constexpr int kDrawsPerPoint = 4;
// Bits that decide when both sides differ at 200 bits, as they may by cancellation.
constexpr int kDecidingBits = 4000;

// pi, 1/3 and their like stand for what they round.
bool has_rounded_constants(const Rule& rule) {
  for (const Pattern* side : {&rule.left, &rule.right}) {
    for (const PatternTerm& t : side->terms) {
      if (t.kind == PatternTerm::Kind::number && t.number * 1024 != std::round(t.number * 1024)) return true;
    }
  }
  return false;
}

void expect_equal(const Rule& rule, long double left, long double right, const std::vector<double>& at) {
  const auto where = [&] {
    std::string text = rule.name + " at";
    for (std::size_t v = 0; v < at.size(); ++v) text += " " + rule.variables[v] + "=" + std::to_string(at[v]);
    return text;
  };
  ASSERT_TRUE(std::isfinite(right)) << where() << ": " << static_cast<double>(left);
  const long double size = std::max(std::fabs(left), std::fabs(right));
  const long double allowed = has_rounded_constants(rule) ? 1e-13L * std::max(size, 1.0L) : 1e-17L * size + 1e-40L;
  ASSERT_LE(std::fabs(left - right), allowed)
      << where() << ": " << static_cast<double>(left) << " and " << static_cast<double>(right);
}

class EveryRule : public ::testing::TestWithParam<std::size_t> {
 protected:
  const Rule& rule() const { return builtin_rules().rules[GetParam()]; }
  const RuleSet::Tags& tags() const { return builtin_rules().tags[GetParam()]; }
};

void expect_to_hold(const Rule& rule, const RuleSet::Tags& tags, std::uint64_t seed, int points) {
  const Expr left = side(rule.left, rule, Type::f64), right = side(rule.right, rule, Type::f64);
  ASSERT_TRUE(check(left).ok() && check(right).ok()) << rule.name;
  Sampler sampler(seed);
  std::vector<double> at;
  for (int compared = 0, draws = 0; compared < points; ++draws) {
    ASSERT_LT(draws, kDrawsPerPoint * points) << rule.name << " is defined at " << compared << " points only";
    ASSERT_TRUE(sampler.point(rule, at)) << rule.name << ": its conditions cannot be met";
    long double l = testing::evaluate_real(left, at, kBits)[0];
    if (!std::isfinite(l)) continue;
    long double r = testing::evaluate_real(right, at, kBits)[0];
    if (l != r) {
      l = testing::evaluate_real(left, at, kDecidingBits)[0], r = testing::evaluate_real(right, at, kDecidingBits)[0];
      if (!std::isfinite(l) || (tags.real == Real::partial && !std::isfinite(r))) continue;
      ASSERT_NO_FATAL_FAILURE(expect_equal(rule, l, r, at));
    }
    ++compared;
  }
}

// Reductions in calls of one to four elements.
TEST_P(EveryRule, HoldsOverTheReals) {
  if (rule().mixed) return;                   // memory_rules_test.cpp
  if (has_op(rule().left, Op::Diff)) return;  // DerivativeRules
  const bool reduces = testing::reduces(rule());
  const int points = points_of_a_rule();
  for (std::size_t elements = 1; elements <= (reduces ? 4 : 1); ++elements)
    expect_to_hold(reduces ? testing::of_elements(rule(), elements) : rule(), tags(), GetParam() + elements,
                   reduces ? points / 4 : points);
}

// Each reduction of no elements has one value; a rule that is not tagged partial must keep it.
TEST_P(EveryRule, HoldsInACallOfNoElements) {
  if (!testing::reduces(rule()) || tags().real == Real::partial) return;
  const Expr left = side(rule().left, rule(), Type::f64), right = side(rule().right, rule(), Type::f64);
  Sampler sampler(GetParam() + 11);
  std::vector<double> at;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(sampler.point(rule(), at));
    std::vector<std::vector<std::uint64_t>> inputs(at.size());
    for (std::size_t v = 0; v < at.size(); ++v)
      if (left.variables[v].is_scalar()) inputs[v] = {bits_of(Type::f64, at[v])};
    const auto value = [&](const Expr& e) {
      return value_of(Type::f64, testing::evaluate_strict(e, inputs, 0)[e.outputs[0].node.index][0]);
    };
    const double l = value(left), r = value(right);
    ASSERT_TRUE(l == r || (std::isnan(l) && std::isnan(r))) << rule().name << ": " << l << " and " << r;
  }
}

// Concrete functions of x in place of a rule's variables.
NodeId function_of(Builder& b, NodeId x, std::uint64_t which) {
  const auto number = [&](double v) { return b.constant(Type::f64, v); };
  switch (which % 12) {
    case 0: return x;
    case 1: return b.op(Op::Mul, x, x);
    case 2: return b.op(Op::Add, b.op(Op::Sin, x), number(2));
    case 3: return b.op(Op::Exp, b.op(Op::Mul, x, number(-0.5)));
    case 4: return b.op(Op::Recip, b.op(Op::Add, b.op(Op::Mul, x, x), number(1)));
    case 5: return b.op(Op::Mul, b.op(Op::Sin, b.op(Op::Mul, x, number(3))), number(0.9));
    case 6: return b.op(Op::Sub, number(1), b.op(Op::Mul, x, number(0.25)));
    case 7: return b.op(Op::Mul, x, b.op(Op::Rsqrt, b.op(Op::Add, b.op(Op::Mul, x, x), number(1))));
    case 8: return b.op(Op::Mul, x, number(-7.5));
    case 9: return b.op(Op::Div, x, number(1024));
    case 10: return b.op(Op::Recip, x);
    default: return b.op(Op::Add, b.op(Op::Mul, x, x), number(1));
  }
}

// A rule with (diff e ?x) at its left root, put into numbers: functions of x stand for its variables, and central
// difference quotients for all derivatives, those of the right side too. Two outputs of the two variables x and step.
class Quotients {
 public:
  Quotients(const Rule& rule, const std::vector<std::uint64_t>& choices) : rule_(rule), choices_(choices), b_(expr) {
    for (const char* name : {"x", "step"}) expr.variables.push_back({.name = name});
    const NodeId x = b_.variable(0), step = b_.variable(1);
    at_ = {x, b_.op(Op::Sub, x, step), b_.op(Op::Add, x, step)};
    twice_ = b_.op(Op::Add, step, step);
    truth_ = truth_values(rule);
    expr.outputs.push_back({"left", term(rule.left, rule.left.terms.size() - 1, 0)});
    expr.outputs.push_back({"right", term(rule.right, rule.right.terms.size() - 1, 0)});
    for (std::uint8_t v = 0; v < choices.size(); ++v)
      expr.outputs.push_back({rule.variables[v], variable(v, 0, /*truth=*/false)});
  }

  Expr expr;  ///< outputs left, right, and the value of every variable

 private:
  // A constant where the rule asks for one, which is small and, at times, no integer.
  NodeId variable(std::uint8_t v, std::size_t place, bool truth) {
    if (v == rule_.left.terms[rule_.left.root().child[1]].variable) return at_[place];
    bool constant = false, integral = false;
    for (const Condition& c : rule_.conditions) {
      if (c.variable[0] != v) continue;
      constant = constant || c.kind == ConditionKind::constant || c.kind == ConditionKind::independent;
      integral = integral || c.kind == ConditionKind::integral;
    }
    const double number = static_cast<double>(choices_[v] % 41) - 20;
    NodeId made =
        constant ? b_.constant(Type::f64, integral ? number : number / 4) : function_of(b_, at_[place], choices_[v]);
    if (truth) made = b_.op(Op::Lt, made, b_.constant(Type::f64, 0.3));
    return made;
  }

  NodeId term(const Pattern& side, std::size_t index, std::size_t place) {
    const PatternTerm& t = side.terms[index];
    if (t.kind == PatternTerm::Kind::number) return b_.constant(Type::f64, t.number);
    if (t.kind == PatternTerm::Kind::variable) return variable(t.variable, place, truth_[t.variable]);
    const Op op = static_cast<Op>(t.op);
    if (op == Op::Diff) {
      CHECK(place == 0);  // second derivatives are not understood here
      const NodeId below = term(side, t.child[0], 1), above = term(side, t.child[0], 2);
      return b_.op(Op::Div, b_.op(Op::Sub, above, below), twice_);
    }
    const auto operand = [&](std::size_t k) { return k < info(op).arity ? term(side, t.child[k], place) : NodeId{}; };
    if (t.has_payload) return b_.powi(operand(0), static_cast<std::int64_t>(t.number));
    const NodeId a = operand(0), b = operand(1), c = operand(2);
    return b_.op(op, a, b, c);
  }

  const Rule& rule_;
  const std::vector<std::uint64_t>& choices_;
  Builder b_;
  std::array<NodeId, 3> at_{};  ///< x, to its left and to its right
  NodeId twice_;
  std::vector<bool> truth_;
};

// d/dx of the left side by difference quotients against the right side, in whose place of (diff ?a ?x) stand difference
// quotients of the functions themselves. x is of any magnitude from 10^-6 to 10^6, and variables are from 10^-12 to
// 10^12: sines of larger numbers are those of millions of digits.
TEST_P(EveryRule, DerivativesAreDifferenceQuotients) {
  if (rule().mixed) return;  // memory_rules_test.cpp
  if (!has_op(rule().left, Op::Diff)) return;
  constexpr int kPointsOfOneChoice = 25, kStepBits = 60, kDecidingStepBits = 700;
  constexpr double kMagnitudes = 12;
  ASSERT_EQ(static_cast<Op>(rule().left.root().op), Op::Diff) << "only derivatives at the root are understood here";
  std::mt19937_64 random(GetParam() + 1);
  Sampler sampler(GetParam() + 1);
  const int points = points_of_a_rule();
  int compared = 0, far = 0;
  for (int tries = 0; compared < points; ++tries) {
    ASSERT_LT(tries, 40 * points / kPointsOfOneChoice) << rule().name << " is hardly ever defined: " << compared;
    std::vector<std::uint64_t> choices(rule().variables.size());
    for (std::uint64_t& choice : choices) choice = random();
    const Quotients quotients(rule(), choices);
    Expr functions = quotients.expr;  // the variables' values alone
    functions.outputs.erase(functions.outputs.begin(), functions.outputs.begin() + 2);
    drop_unused(functions);
    for (int i = 0; i < kPointsOfOneChoice && compared < points; ++i) {
      const bool wide = random() % 2 == 0;
      double x = sampler.value() + 0.01 * sampler.unit();
      if (wide) x = std::copysign(std::exp2(40 * sampler.unit() - 20), random() % 2 == 0 ? 1.0 : -1.0);
      const auto meet = [&](const std::vector<long double>& found) {
        std::vector<double> values(found.begin(), found.end());
        bool all = true;
        for (const Condition& c : rule().conditions) all = all && true_at(c, values);
        for (const double v : values) all = all && std::fabs(std::log10(std::fabs(v))) <= kMagnitudes;
        return all;
      };
      if (!meet(testing::evaluate_real(functions, {x, 0}, 64))) continue;
      const auto at = [&](int step_bits, int bits) {
        return testing::evaluate_real(quotients.expr, {x, std::ldexp(x, -step_bits)}, bits);
      };
      auto sides = at(kStepBits, kBits);
      if (!std::isfinite(sides[0])) continue;
      if (tags().real == Real::partial && !std::isfinite(sides[1])) continue;
      const auto off = [&] {
        const long double size = std::max(std::fabs(sides[0]), std::fabs(sides[1]));
        const long double allowed = has_rounded_constants(rule()) ? 1e-13L : 1e-17L;
        return !(std::fabs(sides[0] - sides[1]) <= allowed * size + 1e-40L);
      };
      // Smaller steps and more bits decide when the functions cancel, or bend within the step.
      if (off()) sides = at(kDecidingStepBits, kDecidingBits);
      ASSERT_FALSE(off()) << rule().name << " at x=" << x << ": " << static_cast<double>(sides[0]) << " and "
                          << static_cast<double>(sides[1]) << "\n"
                          << print_sexpr(quotients.expr);
      ++compared;
      far += std::fabs(x) < 0.01 || std::fabs(x) > 10 ? 1 : 0;
    }
  }
  EXPECT_GT(far, points / 50) << rule().name << " is hardly ever defined for x far from one";
}

INSTANTIATE_TEST_SUITE_P(Builtin, EveryRule, ::testing::Range(std::size_t{0}, builtin_rules().rules.size()),
                         [](const auto& info) {
                           std::string name = builtin_rules().rules[info.param].name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Every name of the ranking is a rule's, and comes once; every rule has a rank of its own.
TEST(Rules, TheRankingNamesRules) {
  std::ifstream file("jit/expr/rules/ranking.txt");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') names.push_back(line);
  EXPECT_GE(names.size(), 50u);
  const RuleSet& set = builtin_rules();
  std::set<std::uint32_t> ranks;
  for (std::size_t i = 0; i < set.rules.size(); ++i) {
    ranks.insert(set.tags[i].rank);
    if (set.tags[i].rank < names.size()) {
      EXPECT_EQ(names[set.tags[i].rank], set.rules[i].name);
    }
  }
  EXPECT_EQ(ranks.size(), set.rules.size());
  EXPECT_EQ(*ranks.rbegin(), set.rules.size() - 1);
  std::vector<bool> enabled(set.rules.size(), true);
  keep_best(set, 5, enabled);
  for (std::size_t i = 0; i < enabled.size(); ++i) EXPECT_EQ(enabled[i], set.tags[i].rank < 5) << set.rules[i].name;
}

TEST(Rules, ThereAreTwoHundredAndMore) {
  EXPECT_GE(builtin_rules().rules.size(), 200u);
}

}  // namespace
}  // namespace trident::expr::rewrite
