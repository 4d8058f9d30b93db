#include "tests/golden/rule_application.h"

#include <algorithm>

#include <fmt/format.h>

#include "jit/egraph/matcher.h"
#include "jit/expr/builder.h"
#include "jit/expr/rewrite/language.h"
#include "jit/expr/rewrite/rules.h"
#include "jit/rulecheck/sorts.h"

namespace trident::testing {
namespace {

using egraph::ClassId;
using egraph::Condition;
using egraph::ConditionKind;
using egraph::PatternTerm;
using egraph::Rule;
using expr::Expr;
using expr::Node;
using expr::NodeId;
using expr::Op;
using expr::Type;

/// The stand-in for a variable of a rule.
struct Place {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  Type type = Type::f64;
  expr::VariableKind kind = expr::VariableKind::array;
  bool truth = false;     ///< 0 < v
  bool whole = false;     ///< rint(v)
  bool constant = false;  ///< 3
};

void narrow(Place& place, double lo, double hi) {
  place.lo = std::max(place.lo, lo), place.hi = std::min(place.hi, hi);
}

void meet(const Condition& c, std::vector<Place>& places) {
  Place& a = places[c.variable[0]];
  switch (c.kind) {
    case ConditionKind::nonzero:
    case ConditionKind::positive: narrow(a, 0.5, 4); break;
    case ConditionKind::nonnegative: narrow(a, 0, 4); break;
    case ConditionKind::negative: narrow(a, -4, -0.5); break;
    case ConditionKind::nonpositive: narrow(a, -4, 0); break;
    case ConditionKind::finite:
    case ConditionKind::number: narrow(a, -4, 4); break;
    case ConditionKind::integral: a.whole = true; break;
    case ConditionKind::uniform: a.kind = expr::VariableKind::scalar; break;
    case ConditionKind::stride:
    case ConditionKind::constant:
    case ConditionKind::integer_two_up: a.constant = true; break;
    case ConditionKind::within_one: narrow(a, -1, 1); break;
    case ConditionKind::at_least_one: narrow(a, 1, 4); break;
    case ConditionKind::within_half_pi: narrow(a, -1.5, 1.5); break;
    case ConditionKind::le:
      narrow(a, -4, 1);
      narrow(places[c.variable[1]], 1, 4);
      break;
    case ConditionKind::of_f32: a.type = Type::f32; break;
    case ConditionKind::of_i32: a.type = Type::i32; break;
    case ConditionKind::of_b32: a.truth = true; break;
    case ConditionKind::of_f64:
    case ConditionKind::symbolic:
    case ConditionKind::independent: break;  // each variable depends on itself alone
  }
}

std::vector<Place> places_of(const Rule& rule, bool declared) {
  std::vector<Place> places(rule.variables.size());
  if (const auto sorts = rulecheck::sorts_of(rule); rule.mixed && sorts.ok()) {
    for (std::size_t v = 0; v < places.size(); ++v) {
      if (sorts->of_variable[v] == rulecheck::Sort::integer) places[v].type = Type::i64;
      if (sorts->of_variable[v] == rulecheck::Sort::table) places[v].kind = expr::VariableKind::table;
    }
  }
  for (const PatternTerm& t : rule.left.terms) {
    if (t.kind != PatternTerm::Kind::node) continue;
    const Op op = static_cast<Op>(t.op);
    const bool logic = op == Op::And || op == Op::Or || op == Op::Xor || op == Op::Not;
    for (std::size_t i = 0; i < expr::info(op).arity; ++i) {
      const PatternTerm& child = rule.left.terms[t.child[i]];
      if (child.kind == PatternTerm::Kind::variable && (logic || (op == Op::Select && i == 0)))
        places[child.variable].truth = true;
    }
  }
  if (declared)
    for (const Condition& c : rule.conditions) meet(c, places);
  return places;
}

/// The left side, and the node that stands for each variable.
struct LeftSide {
  Expr expr;
  std::vector<NodeId> variables;
};

LeftSide left_side(const Rule& rule, const std::vector<Place>& places) {
  LeftSide side;
  for (std::size_t v = 0; v < places.size(); ++v)
    side.expr.variables.push_back({.name = rule.variables[v],
                                   .type = places[v].type,
                                   .kind = places[v].kind,
                                   .lo = places[v].lo,
                                   .hi = places[v].hi});
  expr::Builder builder(side.expr);
  for (std::uint32_t v = 0; v < places.size(); ++v) {
    if (places[v].constant) {
      side.variables.push_back(builder.constant(places[v].type, 3));
      continue;
    }
    const NodeId variable = builder.variable(v);
    side.variables.push_back(places[v].truth   ? builder.op(Op::Lt, builder.constant(places[v].type, 0), variable)
                             : places[v].whole ? builder.op(Op::Rint, variable)
                                               : variable);
  }
  std::vector<NodeId> made;
  const auto sorts = rulecheck::sorts_of(rule);
  for (const PatternTerm& t : rule.left.terms) {
    const bool integer = sorts.ok() && sorts->of_left[made.size()] == rulecheck::Sort::integer;
    const auto operand = [&](std::size_t i) {
      return i < expr::info(static_cast<Op>(t.op)).arity ? made[t.child[i]] : NodeId{};
    };
    if (t.kind == PatternTerm::Kind::variable)
      made.push_back(side.variables[t.variable]);
    else if (t.kind == PatternTerm::Kind::number)
      made.push_back(builder.constant(integer ? Type::i64 : Type::f64, t.number));
    else if (static_cast<Op>(t.op) == Op::Index)
      made.push_back(builder.index());
    else if (t.has_payload)
      made.push_back(builder.powi(operand(0), static_cast<std::int64_t>(t.number)));
    else if (static_cast<Op>(t.op) == Op::Cast)
      made.push_back(builder.cast(static_cast<Type>(t.sort), operand(0)));
    else
      made.push_back(builder.op(static_cast<Op>(t.op), operand(0), operand(1), operand(2)));
  }
  side.expr.outputs.push_back({"out", made.back()});
  return side;
}

/// `node` and all below it, once per use: the printer names nothing. `operand` gives the node at an operand's number.
template <class At>
NodeId written_out(Expr& to, Node node, const At& at) {
  for (NodeId* o : {&node.a, &node.b, &node.c})
    if (o->valid()) *o = written_out(to, at(o->index), at);
  to.nodes.push_back(node);
  return NodeId(static_cast<std::uint32_t>(to.nodes.size() - 1));
}

template <class At>
std::string infix(const Expr& like, const Node& root, const At& at) {
  Expr plain;
  plain.variables = like.variables;
  if (root.op == Op::Constant) return fmt::format("{}", expr::value_of(root.type, root.imm));
  plain.outputs.push_back({"out", written_out(plain, root, at)});
  if (const auto sound = expr::check(plain); root.type != Type::b32 && !sound.ok()) return sound.error().message;
  std::string text = expr::print_infix(plain);
  if (const std::size_t end = text.find(";\n"); end != std::string::npos) text = text.substr(end + 2);
  const std::string_view named = "(out = ";
  return text.starts_with(named) ? text.substr(named.size(), text.size() - named.size() - 1) : text;
}

std::string declarations_of(const Rule& rule, const std::vector<Place>& places) {
  std::string text;
  for (std::size_t v = 0; v < places.size(); ++v) {
    const Place& p = places[v];
    if (!p.constant && p.lo > p.hi) return "no values meet the conditions";
    const std::string about = p.constant ? " = 3"
                              : p.lo > -std::numeric_limits<double>::infinity()
                                  ? fmt::format(" in [{}, {}]", p.lo, p.hi)
                                  : "";
    if (!about.empty()) text += (text.empty() ? "" : ", ") + rule.variables[v] + about;
  }
  return text;
}

}  // namespace

std::optional<Application> apply_once(const Rule& rule, bool declared) {
  const std::vector<Place> places = places_of(rule, declared);
  const LeftSide left = left_side(rule, places);
  const auto term = expr::rewrite::to_term(left.expr);
  if (!term.ok()) return std::nullopt;
  const expr::rewrite::Language language(left.expr.variables);
  egraph::EGraph graph(expr::rewrite::op_rows(), language.semantics(), {});
  const std::vector<ClassId> classes = add_all(graph, *term);
  graph.rebuild();

  // A class that is known to be a constant prints as one; what a rule has just made has one node.
  const auto node_of_class = [&](std::uint32_t index) {
    const ClassId id = graph.find(index);
    const egraph::Facts& facts = graph.facts(id);
    if (facts.constant)
      return expr::rewrite::node_of(language.semantics().constant(&language, graph.sort(id), facts.lo));
    Node found;
    graph.each_node(id, [&](egraph::NodeIndex n) { found = expr::rewrite::node_of(graph.node(n)); });
    return found;
  };
  const auto node_of_source = [&](std::uint32_t index) { return left.expr.nodes[index]; };
  const ClassId root = graph.find(classes[term->roots[0]]);
  Application made_of{.before = infix(left.expr, left.expr.at(left.expr.outputs[0].node), node_of_source),
                      .after = "",
                      .declarations = declarations_of(rule, places)};
  if (graph.facts(root).constant) {
    made_of.after = infix(left.expr, node_of_class(root), node_of_class);
    made_of.folded = true;
    return made_of;
  }

  const std::vector<Rule> rules{rule};
  const egraph::Matcher matcher(rules, expr::rewrite::op_rows());
  egraph::Members members(graph);
  egraph::Matches matches;
  std::uint64_t steps = 1'000'000;
  egraph::Watch watch;
  if (!matcher.match(members, root, 0, matches, steps, watch)) return std::nullopt;
  // Ops that commute match in several orders; this takes the order as written.
  for (const egraph::Match& match : matches.list) {
    const std::span<const ClassId> bound(matches.classes.data() + match.variables, rule.variables.size());
    bool as_written = true;
    for (std::size_t v = 0; v < bound.size(); ++v)
      as_written = as_written && graph.find(bound[v]) == graph.find(classes[left.variables[v].index]);
    if (!as_written) continue;
    const egraph::NodeIndex made = instantiate(graph, rule.right, bound, graph.sort(root));
    if (made == egraph::kNone) return std::nullopt;
    made_of.after = infix(left.expr, node_of_class(made), node_of_class);
    graph.merge(root, made);
    graph.rebuild();
    made_of.contradicts = graph.contradiction();
    return made_of;
  }
  return std::nullopt;
}

std::string applications_of(std::string_view theme) {
  const expr::rewrite::RuleSet& set = expr::rewrite::builtin_rules();
  std::string text;
  for (std::size_t i = 0; i < set.rules.size(); ++i) {
    if (set.tags[i].theme != theme) continue;
    const std::optional<Application> made = apply_once(set.rules[i], true);
    text += set.rules[i].name;
    text += made && !made->declarations.empty() ? ": " + made->declarations + "\n" : "\n";
    text += made ? "  " + made->before + "\n  => " + made->after +
                       (made->folded ? "  ; as constants are folded: no rule is asked\n" : "\n")
                 : "  does not apply to its own left side\n";
  }
  return text.empty() ? fmt::format("there are no rules in jit/expr/rules/{}.rules\n", theme) : text;
}

}  // namespace trident::testing
