#include "jit/expr/rewrite/rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "jit/expr/builder.h"
#include "tests/rules/elements.h"
#include "tests/rules/rule_points.h"
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

constexpr int kPoints = 10'000;
constexpr int kBits = 200;
// Where both sides differ at 200 bits, cancellation may be why: then this many decide.
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

void expect_equal(const Rule& rule, const RuleSet::Tags& tags, long double left, long double right,
                  const std::vector<double>& at) {
  const auto where = [&] {
    std::string text = rule.name + " at";
    for (std::size_t v = 0; v < at.size(); ++v) text += " " + rule.variables[v] + "=" + std::to_string(at[v]);
    return text;
  };
  if (!std::isfinite(left)) return;
  if (tags.real == Real::partial && !std::isfinite(right)) return;
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
  int compared = 0;
  for (int i = 0; i < points; ++i) {
    ASSERT_TRUE(sampler.point(rule, at)) << rule.name << ": its conditions cannot be met";
    const long double l = testing::evaluate_real(left, at, kBits)[0];
    if (!std::isfinite(l)) continue;
    ++compared;
    const long double r = testing::evaluate_real(right, at, kBits)[0];
    if (l == r) continue;
    ASSERT_NO_FATAL_FAILURE(expect_equal(rule, tags, testing::evaluate_real(left, at, kDecidingBits)[0],
                                         testing::evaluate_real(right, at, kDecidingBits)[0], at));
  }
  EXPECT_GT(compared, points / 20) << rule.name << " was hardly ever defined";
}

// Reductions in calls of one to four elements.
TEST_P(EveryRule, HoldsOverTheReals) {
  if (rule().mixed) return;                   // memory_rules_test.cpp
  if (has_op(rule().left, Op::Diff)) return;  // DerivativeRules
  const bool reduces = testing::reduces(rule());
  for (std::size_t elements = 1; elements <= (reduces ? 4 : 1); ++elements)
    expect_to_hold(reduces ? testing::of_elements(rule(), elements) : rule(), tags(), GetParam() + elements,
                   reduces ? kPoints / 4 : kPoints);
}

// Of no elements there is one value for each reduction; a rule that does not say partial gives the same.
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
  switch (which % 8) {
    case 0: return x;
    case 1: return b.op(Op::Mul, x, x);
    case 2: return b.op(Op::Add, b.op(Op::Sin, x), number(2));
    case 3: return b.op(Op::Exp, b.op(Op::Mul, x, number(-0.5)));
    case 4: return b.op(Op::Recip, b.op(Op::Add, b.op(Op::Mul, x, x), number(1)));
    case 5: return b.op(Op::Mul, b.op(Op::Sin, b.op(Op::Mul, x, number(3))), number(0.9));
    case 6: return b.op(Op::Sub, number(1), b.op(Op::Mul, x, number(0.25)));
    default: return b.op(Op::Tanh, x);
  }
}

// d/dx of the left side by difference quotients against the right side, in whose place of (diff ?a ?x) stand difference
// quotients of the functions themselves.
TEST_P(EveryRule, DerivativesAreDifferenceQuotients) {
  if (rule().mixed) return;  // memory_rules_test.cpp
  if (!has_op(rule().left, Op::Diff)) return;
  constexpr int kDifferenceBits = 400, kStepBits = 110;
  const Pattern& left = rule().left;
  const PatternTerm& root = left.root();
  ASSERT_EQ(static_cast<Op>(root.op), Op::Diff) << "only derivatives at the root are understood here";
  const std::uint8_t x = left.terms[root.child[1]].variable;
  const std::vector<bool> truth = truth_values(rule());
  Sampler sampler(GetParam() + 1);
  int compared = 0;
  for (int i = 0; i < kPoints / 5 && compared < kPoints / 10; ++i) {
    // Variables: functions of x, or constants where the rule asks for them.
    std::vector<Expr> functions(rule().variables.size());
    std::vector<double> values(rule().variables.size());
    const double x0 = sampler.value() + 0.01 * sampler.unit();
    for (std::uint8_t v = 0; v < functions.size(); ++v) {
      Expr& f = functions[v];
      f.variables.push_back({.name = "x"});
      Builder b(f);
      const NodeId at = b.variable(0);
      bool constant = false, integral = false;
      for (const Condition& c : rule().conditions) {
        if (c.variable[0] != v) continue;
        constant = constant || c.kind == ConditionKind::constant || c.kind == ConditionKind::independent;
        integral = integral || c.kind == ConditionKind::integral;
      }
      NodeId root_node = v == x     ? at
                         : constant ? b.constant(Type::f64, integral ? 3 : std::round(4 * sampler.value()) / 4)
                                    : function_of(b, at, sampler.number());
      f.outputs.push_back({"f", root_node});
      values[v] = static_cast<double>(testing::evaluate_real(f, {x0}, kBits)[0]);
    }
    bool meets = true;
    for (const Condition& c : rule().conditions) meets = meets && true_at(c, values);
    if (!meets) continue;

    // The term under the derivative with the functions put in, as a function of x.
    Expr composed;
    composed.variables.push_back({.name = "x"});
    Builder b(composed);
    const NodeId at = b.variable(0);
    std::vector<NodeId> made(left.terms.size());
    for (std::size_t t = 0; t + 1 < left.terms.size(); ++t) {
      const PatternTerm& term = left.terms[t];
      const auto operand = [&](std::size_t k) {
        return k < info(static_cast<Op>(term.op)).arity ? made[term.child[k]] : NodeId{};
      };
      if (term.kind == PatternTerm::Kind::number) {
        made[t] = b.constant(Type::f64, term.number);
      } else if (term.kind == PatternTerm::Kind::variable) {
        std::vector<NodeId> place;
        for (const Node& n : functions[term.variable].nodes) {
          Node copy = n;
          for (NodeId* o : {&copy.a, &copy.b, &copy.c}) {
            if (o->valid()) *o = place[o->index];
          }
          place.push_back(n.op == Op::Variable ? at : b.add(copy));
        }
        made[t] = place[functions[term.variable].outputs[0].node.index];
        if (truth[term.variable]) made[t] = b.op(Op::Lt, made[t], b.constant(Type::f64, 0.3));
      } else if (term.has_payload) {
        made[t] = b.powi(operand(0), static_cast<std::int64_t>(term.number));
      } else {
        made[t] = b.op(static_cast<Op>(term.op), operand(0), operand(1), operand(2));
      }
    }
    composed.outputs.push_back({"y", made[root.child[0]]});
    const long double slope = testing::difference_quotient(composed, {x0}, 0, kDifferenceBits, kStepBits)[0];
    if (!std::isfinite(slope)) continue;

    // The right side over the variables' values and, behind them, their slopes.
    Expr plain;
    std::vector<double> inputs;
    for (const bool slopes : {false, true}) {
      for (std::size_t v = 0; v < functions.size(); ++v) {
        plain.variables.push_back({.name = rule().variables[v] + (slopes ? "_slope" : "")});
        inputs.push_back(slopes ? static_cast<double>(testing::difference_quotient(functions[v], {x0}, 0,
                                                                                   kDifferenceBits, kStepBits)[0])
                                : values[v]);
      }
    }
    Builder r(plain);
    std::vector<NodeId> terms;
    for (const PatternTerm& t : rule().right.terms) {
      const auto operand = [&](std::size_t k) {
        return k < info(static_cast<Op>(t.op)).arity ? terms[t.child[k]] : NodeId{};
      };
      if (t.kind == PatternTerm::Kind::number) {
        terms.push_back(r.constant(Type::f64, t.number));
      } else if (t.kind == PatternTerm::Kind::variable) {
        const NodeId v = r.variable(t.variable);
        terms.push_back(truth[t.variable] ? r.op(Op::Lt, v, r.constant(Type::f64, 0.3)) : v);
      } else if (static_cast<Op>(t.op) == Op::Diff) {
        const PatternTerm& of = rule().right.terms[t.child[0]];
        ASSERT_EQ(of.kind, PatternTerm::Kind::variable);
        terms.push_back(r.variable(of.variable + static_cast<std::uint32_t>(functions.size())));
      } else {
        terms.push_back(r.op(static_cast<Op>(t.op), operand(0), operand(1), operand(2)));
      }
    }
    plain.outputs.push_back({"slope", terms.back()});
    const long double said = testing::evaluate_real(plain, inputs, kBits)[0];
    if (tags().real == Real::partial && !std::isfinite(said)) continue;
    // Values and slopes of the functions were rounded to double, which singular derivatives magnify.
    const long double size = std::max({std::fabs(slope), std::fabs(said), 1.0L});
    ASSERT_LE(std::fabs(slope - said), 1e-7L * size)
        << rule().name << " at x=" << x0 << ": " << static_cast<double>(slope) << " and " << static_cast<double>(said);
    ++compared;
  }
  EXPECT_GT(compared, kPoints / 50) << rule().name << " was hardly ever defined";
}

std::vector<std::size_t> numbers() {
  std::vector<std::size_t> all(builtin_rules().rules.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}
INSTANTIATE_TEST_SUITE_P(Builtin, EveryRule, ::testing::ValuesIn(numbers()), [](const auto& info) {
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
