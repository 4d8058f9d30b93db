#include "tests/rules/elements.h"

#include <string>

#include "jit/expr/expr.h"
#include "runtime/base/check.h"

namespace trident::testing {
namespace {

using egraph::Condition;
using egraph::ConditionKind;
using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using expr::Op;

bool is_reduction(const PatternTerm& t) {
  if (t.kind != PatternTerm::Kind::node) return false;
  const Op op = static_cast<Op>(t.op);
  return op == Op::Sum || op == Op::Mean || op == Op::MinOf || op == Op::MaxOf || op == Op::Dot;
}

bool is_uniform(const Rule& rule, std::uint8_t v) {
  for (const Condition& c : rule.conditions)
    if (c.kind == ConditionKind::uniform && c.variable[0] == v) return true;
  return false;
}

struct Substitution {
  const Rule& rule;
  std::size_t elements;
  Pattern to{};

  std::uint8_t variable(std::uint8_t v, std::size_t element) const {
    return static_cast<std::uint8_t>(is_uniform(rule, v) ? v : v + element * rule.variables.size());
  }
  std::uint8_t add(const PatternTerm& t) {
    CHECK(to.terms.size() < 255);
    to.terms.push_back(t);
    return static_cast<std::uint8_t>(to.terms.size() - 1);
  }
  std::uint8_t apply(Op op, std::uint8_t a, std::uint8_t b) {
    return add({.kind = PatternTerm::Kind::node, .op = static_cast<std::uint8_t>(op), .child = {a, b, 0}});
  }

  /// The term at `index` of `from`, at one element.
  std::uint8_t at(const Pattern& from, std::uint8_t index, std::size_t element) {
    PatternTerm t = from.terms[index];
    if (t.kind == PatternTerm::Kind::variable) t.variable = variable(t.variable, element);
    if (t.kind != PatternTerm::Kind::node) return add(t);
    const Op op = static_cast<Op>(t.op);
    if (!is_reduction(t)) {
      for (std::uint8_t i = 0; i < expr::info(op).arity; ++i) t.child[i] = at(from, t.child[i], element);
      return add(t);
    }
    const auto part = [&](std::size_t e) {
      const std::uint8_t a = at(from, t.child[0], e);
      return op == Op::Dot ? apply(Op::Mul, a, at(from, t.child[1], e)) : a;
    };
    std::uint8_t all = part(0);
    for (std::size_t e = 1; e < elements; ++e) {
      const std::uint8_t next = part(e);
      all = apply(op == Op::MinOf ? Op::Min : op == Op::MaxOf ? Op::Max : Op::Add, all, next);
    }
    if (op != Op::Mean) return all;
    const auto count = static_cast<double>(elements);
    return apply(Op::Div, all, add({.kind = PatternTerm::Kind::number, .number = count}));
  }

  Pattern side(const Pattern& from) {
    to.terms.clear();
    at(from, static_cast<std::uint8_t>(from.terms.size() - 1), 0);
    return to;
  }
};

}  // namespace

bool reduces(const Rule& rule) {
  for (const Pattern* side : {&rule.left, &rule.right})
    for (const PatternTerm& t : side->terms)
      if (is_reduction(t)) return true;
  return false;
}

Rule of_elements(const Rule& rule, std::size_t elements) {
  CHECK(elements >= 1 && elements <= 4);
  Substitution substitution{rule, elements};
  Rule made;
  made.name = rule.name;
  made.left = substitution.side(rule.left), made.right = substitution.side(rule.right);
  for (std::size_t e = 0; e < elements; ++e) {
    for (const std::string& name : rule.variables) made.variables.push_back(name + std::string(e, '\''));
    for (const Condition& c : rule.conditions)
      made.conditions.push_back(
          {c.kind, {substitution.variable(c.variable[0], e), substitution.variable(c.variable[1], e)}});
  }
  return made;
}

}  // namespace trident::testing
