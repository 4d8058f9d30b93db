#include "jit/expr/rewrite/rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <set>

#include "jit/expr/builder.h"
#include "tests/rules/elements.h"
#include "tests/support/mpfr_evaluator.h"
#include "tests/support/strict_evaluator.h"

namespace trident::expr::rewrite {
namespace {

using egraph::Condition;
using egraph::ConditionKind;
using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;

constexpr int kPoints = 10'000;
constexpr int kBits = 200;
// Where both sides differ at 200 bits, cancellation may be why: then this many decide.
constexpr int kDecidingBits = 4000;

bool has_op(const Pattern& pattern, Op op) {
  for (const PatternTerm& t : pattern.terms) {
    if (t.kind == PatternTerm::Kind::node && t.op == static_cast<std::uint8_t>(op)) return true;
  }
  return false;
}

bool true_at(const Condition& c, const std::vector<double>& at) {
  const double a = at[c.variable[0]], b = at[c.variable[1]];
  switch (c.kind) {
    case ConditionKind::nonzero: return a != 0;
    case ConditionKind::positive: return a > 0;
    case ConditionKind::nonnegative: return a >= 0;
    case ConditionKind::negative: return a < 0;
    case ConditionKind::nonpositive: return a <= 0;
    case ConditionKind::finite: return std::isfinite(a);
    case ConditionKind::number: return !std::isnan(a);
    case ConditionKind::integral: return a == std::floor(a);
    case ConditionKind::integer_two_up: return a >= 2 && a == std::floor(a);
    case ConditionKind::within_one: return a >= -1 && a <= 1;
    case ConditionKind::at_least_one: return a >= 1;
    case ConditionKind::within_half_pi: return std::fabs(a) <= 1.5707963267948966;
    case ConditionKind::le: return a <= b;
    case ConditionKind::constant:
    case ConditionKind::symbolic:
    case ConditionKind::uniform:
    case ConditionKind::of_f32:
    case ConditionKind::of_f64:
    case ConditionKind::of_i32:
    case ConditionKind::of_b32:
    case ConditionKind::stride:  // of the rules of memory_rules_test.cpp only
    case ConditionKind::independent: return true;
  }
  return false;
}

// What a rule says of a variable's type, if it does.
Type type_of(const Rule& rule, std::size_t v, Type otherwise) {
  for (const Condition& c : rule.conditions) {
    if (c.variable[0] != v) continue;
    if (c.kind == ConditionKind::of_f32) return Type::f32;
    if (c.kind == ConditionKind::of_f64) return Type::f64;
    if (c.kind == ConditionKind::of_i32) return Type::i32;
  }
  return otherwise;
}

// The value of that type next to `x`.
double of_type(Type type, double x) {
  if (type == Type::i32) return std::isnan(x) ? 0 : std::trunc(std::fmax(-2147483648.0, std::fmin(2147483647.0, x)));
  return type == Type::f32 ? static_cast<double>(static_cast<float>(x)) : x;
}

class Sampler {
 public:
  explicit Sampler(std::uint64_t seed) : random_(seed) {}

  double value() {
    static constexpr double kCorners[] = {0,    1,     -1, 2,   -2,    0.5,   -0.5, 3,
                                          1e-3, -1e-3, 10, -10, 0.999, 1.001, 100,  1.5707963267948966};
    const auto kind = random_() % 8;
    if (kind == 0) return kCorners[random_() % std::size(kCorners)];
    if (kind == 1) return static_cast<double>(static_cast<int>(random_() % 17) - 8);
    const double magnitude = std::exp(std::log(0.01) + unit() * std::log(1000.0));
    return random_() % 2 == 0 ? magnitude : -magnitude;
  }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  std::uint64_t number() { return random_(); }

  /// A point where all conditions hold, or nothing.
  bool point(const Rule& rule, std::vector<double>& at) {
    at.resize(rule.variables.size());
    for (int attempt = 0; attempt < 2000; ++attempt) {
      for (double& x : at) x = value();
      for (const Condition& c : rule.conditions) aim(c, at);
      for (std::size_t v = 0; v < at.size(); ++v) at[v] = of_type(type_of(rule, v, Type::f64), at[v]);
      bool all = true;
      for (const Condition& c : rule.conditions) all = all && true_at(c, at);
      if (all) return true;
    }
    return false;
  }

 private:
  // Moves a variable into a narrow condition.
  void aim(const Condition& c, std::vector<double>& at) {
    double& a = at[c.variable[0]];
    if (c.kind == ConditionKind::within_one) a = random_() % 8 == 0 ? std::round(2 * unit() - 1) : 2 * unit() - 1;
    if (c.kind == ConditionKind::within_half_pi) a = (2 * unit() - 1) * 1.57;
    if (c.kind == ConditionKind::integral) a = std::round(a);
    if (c.kind == ConditionKind::integer_two_up) a = 2 + static_cast<double>(random_() % 5);
    if (c.kind == ConditionKind::at_least_one) a = 1 + std::fabs(a);
  }
  std::mt19937_64 random_;
};

// Terms of mixed sorts (selections) have truth values in place of some variables: those that an op wants as b32.
std::vector<bool> truth_values(const Rule& rule) {
  std::vector<bool> truth(rule.variables.size(), false);
  for (const Condition& c : rule.conditions)
    if (c.kind == ConditionKind::of_b32) truth[c.variable[0]] = true;
  for (const PatternTerm& t : rule.left.terms) {
    if (t.kind != PatternTerm::Kind::node) continue;
    const Op op = static_cast<Op>(t.op);
    if (op != Op::Select && op != Op::Not) continue;
    const PatternTerm& child = rule.left.terms[t.child[0]];
    if (child.kind == PatternTerm::Kind::variable) truth[child.variable] = true;
  }
  return truth;
}

// Replaces truth-valued variables by comparisons of a float variable with zero.
Expr side(const Pattern& pattern, const Rule& rule, Type type) {
  Expr plain;
  for (const std::string& name : rule.variables)
    plain.variables.push_back({.name = name, .type = type_of(rule, plain.variables.size(), type)});
  for (const Condition& c : rule.conditions)
    if (c.kind == ConditionKind::uniform) plain.variables[c.variable[0]].kind = VariableKind::scalar;
  const std::vector<bool> truth = truth_values(rule);
  Builder builder(plain);
  std::vector<NodeId> made;
  for (const PatternTerm& t : pattern.terms) {
    const auto operand = [&](std::size_t i) {
      return t.kind == PatternTerm::Kind::node && i < info(static_cast<Op>(t.op)).arity ? made[t.child[i]] : NodeId{};
    };
    if (t.kind == PatternTerm::Kind::variable) {
      const NodeId v = builder.variable(t.variable);
      made.push_back(truth[t.variable] ? builder.op(Op::Lt, v, builder.constant(builder.type_of(v), 0)) : v);
    } else if (t.kind == PatternTerm::Kind::number) {
      made.push_back(builder.constant(type, t.number));
    } else if (t.has_payload) {
      made.push_back(builder.powi(operand(0), static_cast<std::int64_t>(t.number)));
    } else if (static_cast<Op>(t.op) == Op::Cast) {
      made.push_back(builder.cast(static_cast<Type>(t.sort), operand(0)));
    } else {
      made.push_back(builder.op(static_cast<Op>(t.op), operand(0), operand(1), operand(2)));
    }
  }
  NodeId root = made.back();
  if (builder.type_of(root) == Type::b32)
    root = builder.op(Op::Select, root, builder.constant(type, 1), builder.constant(type, 0));
  plain.outputs.push_back({"value", root});
  return plain;
}

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

// The bits of both sides under a tag: NaN equals NaN; zeros of either sign are equal under `zero`.
bool same_bits(Type type, std::uint64_t a, std::uint64_t b, Ieee tag) {
  const double x = value_of(type, a), y = value_of(type, b);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return a == b || (tag == Ieee::zero && x == 0 && y == 0);
}

// The last elements of `inputs`, up to five of them, in one call.
void expect_same_totals_of(const Rule& rule, Ieee tag, const Expr& left, const Expr& right, Type type,
                           const std::vector<std::vector<std::uint64_t>>& inputs, std::size_t last) {
  const std::size_t n = std::min(last + 1, last % 6);
  std::vector<std::vector<std::uint64_t>> call;
  for (std::size_t v = 0; v < inputs.size(); ++v) {
    const auto end = inputs[v].end();
    call.emplace_back(left.variables[v].is_scalar() ? end - 1 : end - static_cast<std::ptrdiff_t>(n), end);
  }
  const std::uint64_t l = testing::evaluate_strict(left, call, n)[left.outputs[0].node.index][0];
  const std::uint64_t r = testing::evaluate_strict(right, call, n)[right.outputs[0].node.index][0];
  ASSERT_TRUE(same_bits(type, l, r, tag)) << rule.name << " " << ir::name_of(type) << " of " << n
                                          << " elements: " << value_of(type, l) << " and " << value_of(type, r);
}

// Tags that promise bits keep them in strict arithmetic, at special values too. Functions are exact only up to their
// own symmetry, which libm has.
TEST_P(EveryRule, ExactTagsKeepTheBits) {
  if (rule().mixed) return;  // memory_rules_test.cpp
  if (tags().ieee != Ieee::exact && tags().ieee != Ieee::zero) return;
  if (has_op(rule().left, Op::Diff)) return;
  const bool reduces = testing::reduces(rule());
  for (const Type type : {Type::f64, Type::f32}) {
    const double kSpecials[] = {0.0,
                                -0.0,
                                1,
                                -1,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                3,
                                -0.1,
                                1e-310,
                                1e300,
                                -1e300,
                                type == Type::f32 ? 1e38 : 1.7e308,
                                type == Type::f32 ? 1e-45 : 5e-324};
    const Expr left = side(rule().left, rule(), type), right = side(rule().right, rule(), type);
    Sampler sampler(GetParam() + 7);
    constexpr std::size_t kCount = 4000;
    std::vector<std::vector<std::uint64_t>> inputs(rule().variables.size());
    std::vector<double> at;
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(sampler.point(rule(), at));
      // Special values instead, where the conditions still hold.
      for (std::size_t v = 0; v < at.size(); ++v) {
        const double before = at[v];
        if (sampler.number() % 2 == 0)
          at[v] = of_type(type_of(rule(), v, type), kSpecials[sampler.number() % std::size(kSpecials)]);
        for (const Condition& c : rule().conditions) {
          const bool number = c.kind == ConditionKind::integral && !std::isfinite(at[v]);
          if (!true_at(c, at) || number) at[v] = before;
        }
      }
      for (std::size_t v = 0; v < at.size(); ++v) inputs[v].push_back(bits_of(left.variables[v].type, at[v]));
      if (reduces) {
        ASSERT_NO_FATAL_FAILURE(expect_same_totals_of(rule(), tags().ieee, left, right, type, inputs, i));
      }
    }
    if (reduces) continue;
    const auto l = testing::evaluate_strict(left, inputs, kCount), r = testing::evaluate_strict(right, inputs, kCount);
    const auto& a = l[left.outputs[0].node.index];
    const auto& b = r[right.outputs[0].node.index];
    for (std::size_t i = 0; i < kCount; ++i) {
      std::string where;
      for (std::size_t v = 0; v < at.size(); ++v)
        where += " " + rule().variables[v] + "=" +
                 std::to_string(value_of(left.variables[v].type, inputs[v][inputs[v].size() == 1 ? 0 : i]));
      const std::uint64_t x = a[a.size() == 1 ? 0 : i], y = b[b.size() == 1 ? 0 : i];
      const Type made = left.at(left.outputs[0].node).type;
      ASSERT_EQ(made, right.at(right.outputs[0].node).type);
      ASSERT_TRUE(same_bits(made, x, y, tags().ieee)) << rule().name << " " << ir::name_of(type) << where << ": "
                                                      << value_of(made, x) << " and " << value_of(made, y);
    }
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
