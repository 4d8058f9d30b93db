#include "tests/rules/rule_points.h"

#include <cmath>

#include "jit/expr/builder.h"

namespace trident::testing {

using egraph::Condition;
using egraph::ConditionKind;
using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using expr::Builder;
using expr::Expr;
using expr::NodeId;
using expr::Op;
using expr::Type;
using expr::VariableKind;

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

// The type that a rule demands of a variable, else `otherwise`.
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

// Replaces truth-valued variables by comparisons of zero with a float variable: true where that is pos(), false where
// it is nonpos(), as conditions say of truth values.
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
      made.push_back(truth[t.variable] ? builder.op(Op::Lt, builder.constant(builder.type_of(v), 0), v) : v);
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

double RuleSampler::value() {
  static constexpr double kCorners[] = {0,    1,     -1, 2,   -2,    0.5,   -0.5, 3,
                                        1e-3, -1e-3, 10, -10, 0.999, 1.001, 100,  1.5707963267948966};
  const auto kind = random_() % 8;
  if (kind == 0) return kCorners[random_() % std::size(kCorners)];
  if (kind == 1) return static_cast<double>(static_cast<int>(random_() % 17) - 8);
  const double magnitude = std::exp(std::log(0.01) + unit() * std::log(1000.0));
  return random_() % 2 == 0 ? magnitude : -magnitude;
}

bool RuleSampler::point(const Rule& rule, std::vector<double>& at) {
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

// Moves a variable into a narrow condition.
void RuleSampler::aim(const Condition& c, std::vector<double>& at) {
  double& a = at[c.variable[0]];
  if (c.kind == ConditionKind::within_one) a = random_() % 8 == 0 ? std::round(2 * unit() - 1) : 2 * unit() - 1;
  if (c.kind == ConditionKind::within_half_pi) a = (2 * unit() - 1) * 1.57;
  if (c.kind == ConditionKind::integral) a = std::round(a);
  if (c.kind == ConditionKind::integer_two_up) a = 2 + static_cast<double>(random_() % 5);
  if (c.kind == ConditionKind::at_least_one) a = 1 + std::fabs(a);
}

}  // namespace trident::testing
