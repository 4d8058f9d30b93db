#include "jit/egraph/explain.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "jit/egraph/matcher.h"
#include "jit/egraph/proof_log.h"

namespace trident::egraph {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Per edge of a log: how many levels below a rule's variables to look for the source of its conditions.
using Depths = std::vector<std::uint32_t>;
constexpr std::uint32_t kAllLevels = 1u << 20;

class Explainer {
 public:
  Explainer(const EGraph& graph, std::span<const Rule> rules, const Depths& depths)
      : graph_(graph),
        log_(*graph.proof_log()),
        rules_(rules),
        depths_(depths),
        place_(graph.size(), kNone),
        needed_(log_.edges()) {
    members_.resize(graph.size());
    for (NodeIndex n = 0; n < graph.size(); ++n) members_[graph.find(n)].push_back(n);
  }

  std::optional<Explanation> run(const Term& from, std::span<const ClassId> classes, const Term& to) {
    if (!find_needed(from, classes, to)) return std::nullopt;
    Explanation explanation;
    explanation.from = from, explanation.to = to;
    for (std::uint32_t e = 0; e < needed_.size(); ++e)
      if (needed_[e]) add_step(e, explanation);
    explanation.pool = std::move(pool_);
    return explanation;
  }
  /// Returns the edge that a step of the explanation came from.
  [[nodiscard]] std::uint32_t edge_of(std::size_t step) const { return edge_of_[step]; }

  bool find_needed(const Term& from, std::span<const ClassId> classes, const Term& to);
  [[nodiscard]] const std::vector<bool>& needed() const { return needed_; }

 private:
  // Needs child c of a node of the extracted term. Commutative ops may have swapped their operands since.
  void need_child(const ENode& original, std::uint8_t c, NodeIndex wanted, const ENode& node, const Term& to) {
    if (graph_.row(original.op).commutes && c < 2 &&
        graph_.find(original.child[0]) != graph_.find(to.origin[node.child[0]]))
      c = static_cast<std::uint8_t>(1 - c);
    need(original.child[c], wanted);
  }

  void need(std::uint32_t a, std::uint32_t b) {
    if (a == b) return;
    const auto way = log_.way(a, b);
    CHECK(way);  // the caller knows that they are equal
    for (const std::uint32_t e : *way) {
      if (needed_[e]) continue;
      needed_[e] = true;
      work_.push_back(e);
    }
  }

  // Marks the equalities that an edge rests on as needed too.
  bool justify(std::uint32_t number);
  bool children_equal(const ENode& x, const ENode& y, std::uint32_t before, Pairs& pairs) const;

  // A value is known because its operands are, or because enough is known of them: atan2(0, x) where x is positive.
  void constant_below(NodeIndex n, std::uint32_t before, Pairs& pairs, int depth = 0) const {
    const ENode& node = log_.original(n);
    for (std::uint8_t c = 0; c < graph_.row(node.op).children; ++c) {
      if (graph_.facts(graph_.find(node.child[c])).constant)
        literal_of(node.child[c], before, pairs, depth);
      else
        facts_of(node.child[c], before, pairs);
    }
  }
  // Where the graph was too full for the constant itself, the value is that of a form whose operands are known.
  void literal_of(std::uint32_t id, std::uint32_t before, Pairs& pairs, int depth = 0) const;

  // The facts of a value come from all its forms together, and these from all forms of their operands.
  void facts_of(std::uint32_t id, std::uint32_t before, Pairs& pairs, std::uint32_t depth = 0) const;

  // Returns whether node n is an instance of a pattern, by equalities from before an edge; collects those it uses.
  bool matches(NodeIndex n, const Pattern& pattern, std::size_t at, std::span<const std::uint32_t> variables,
               std::uint32_t before, Pairs& pairs) const;

  bool child_matches(std::uint32_t id, const Pattern& pattern, std::size_t at, std::span<const std::uint32_t> variables,
                     std::uint32_t before, Pairs& pairs) const;

  // --- terms ---

  // Returns the term that founded a node, in the pool. Children existed before their users.
  std::uint32_t term_of(NodeIndex n);

  void add_step(std::uint32_t number, Explanation& explanation) {
    const ProofLog::Edge& edge = log_.edge(number);
    if (edge.kind != Reason::Kind::rule && edge.kind != Reason::Kind::tactic) return;
    Step step;
    step.left = term_of(edge.x), step.right = term_of(edge.y);
    if (edge.kind == Reason::Kind::rule) {
      step.rule = edge.rule;
      for (const std::uint32_t v : log_.variables_of(edge)) step.variables.push_back(term_of(v));
    }
    explanation.steps.push_back(std::move(step));
    edge_of_.push_back(number);
  }

  const EGraph& graph_;
  const ProofLog& log_;
  std::span<const Rule> rules_;
  const Depths& depths_;
  std::vector<std::uint32_t> place_;  ///< per node: its term in the pool
  std::vector<ENode> pool_;
  std::vector<bool> needed_;            ///< per edge
  std::vector<std::uint32_t> edge_of_;  ///< per step
  std::vector<std::uint32_t> work_;
  std::vector<std::vector<NodeIndex>> members_;  ///< per class: also nodes that the graph has dropped
};

bool Explainer::find_needed(const Term& from, std::span<const ClassId> classes, const Term& to) {
  for (std::size_t r = 0; r < from.roots.size(); ++r) need(classes[from.roots[r]], to.origin[to.roots[r]]);
  for (std::size_t i = 0; i < to.nodes.size(); ++i) {
    const ENode& original = log_.original(to.origin[i]);
    for (std::uint8_t c = 0; c < graph_.row(original.op).children; ++c)
      need_child(original, c, to.origin[to.nodes[i].child[c]], to.nodes[i], to);
  }
  while (!work_.empty()) {
    const std::uint32_t edge = work_.back();
    work_.pop_back();
    if (!justify(edge)) return false;
  }
  return true;
}

bool Explainer::justify(std::uint32_t number) {
  const ProofLog::Edge& edge = log_.edge(number);
  Pairs pairs;
  if (edge.kind == Reason::Kind::congruence) {
    if (!children_equal(log_.original(edge.x), log_.original(edge.y), number, pairs)) return false;
  } else if (edge.kind == Reason::Kind::constant) {
    constant_below(edge.x, number, pairs);
    if (depths_[number] > 0) facts_of(edge.x, number, pairs, depths_[number]);
  } else if (edge.kind == Reason::Kind::rule) {
    const Rule& rule = rules_[edge.rule];
    const auto variables = log_.variables_of(edge);
    if (!matches(edge.x, rule.left, rule.left.terms.size() - 1, variables, number, pairs)) return false;
    if (!matches(edge.y, rule.right, rule.right.terms.size() - 1, variables, number, pairs)) return false;
    for (const Condition& c : rule.conditions)
      for (std::uint8_t a = 0; a < arguments_of(c.kind); ++a)
        facts_of(variables[c.variable[a]], number, pairs, depths_[number]);
  }
  for (const auto& [a, b] : pairs) need(a, b);
  return true;
}

bool Explainer::children_equal(const ENode& x, const ENode& y, std::uint32_t before, Pairs& pairs) const {
  const OpRow& row = graph_.row(x.op);
  for (const bool swapped : {false, true}) {
    if (swapped && !row.commutes) break;
    bool all = true;
    Pairs these;
    for (std::uint8_t c = 0; c < row.children && all; ++c) {
      const std::uint32_t other = y.child[swapped && c < 2 ? 1 - c : c];
      all = log_.equal_before(x.child[c], other, before);
      these.emplace_back(x.child[c], other);
    }
    if (!all) continue;
    pairs.insert(pairs.end(), these.begin(), these.end());
    return true;
  }
  return false;
}

void Explainer::literal_of(std::uint32_t id, std::uint32_t before, Pairs& pairs, int depth) const {
  constexpr int kDepthMax = 32;
  const auto known = [&](std::uint32_t of) { return graph_.facts(graph_.find(of)).constant; };
  if (!known(id)) return;
  NodeIndex form = kNone;
  for (const NodeIndex n : members_[graph_.find(id)]) {
    const ENode& node = log_.original(n);
    const std::uint8_t children = graph_.row(node.op).children;
    if (children == 0) return pairs.emplace_back(id, n), void();
    if (form == kNone && std::all_of(node.child.begin(), node.child.begin() + children, known)) form = n;
  }
  if (form == kNone || depth == kDepthMax) return;
  pairs.emplace_back(id, form);
  constant_below(form, before, pairs, depth + 1);
}

void Explainer::facts_of(std::uint32_t id, std::uint32_t before, Pairs& pairs, std::uint32_t depth) const {
  std::vector<std::uint32_t> level{id}, below;
  std::set<std::uint32_t> seen;
  for (std::uint32_t d = 0; !level.empty(); ++d, level = std::exchange(below, {})) {
    for (const std::uint32_t top : level) {
      if (!seen.insert(top).second) continue;
      for (const NodeIndex n : members_[graph_.find(top)]) {
        if (!log_.equal_before(top, n, before)) continue;
        pairs.emplace_back(top, n);
        seen.insert(n);
        const ENode& node = log_.original(n);
        if (d < depth) below.insert(below.end(), node.child.begin(), node.child.begin() + graph_.row(node.op).children);
      }
    }
  }
}

bool Explainer::matches(NodeIndex n, const Pattern& pattern, std::size_t at, std::span<const std::uint32_t> variables,
                        std::uint32_t before, Pairs& pairs) const {
  const PatternTerm& t = pattern.terms[at];
  if (t.kind == PatternTerm::Kind::number) {
    literal_of(n, before, pairs);
    return true;
  }
  if (t.kind == PatternTerm::Kind::variable) {
    if (!log_.equal_before(n, variables[t.variable], before)) return false;
    pairs.emplace_back(n, variables[t.variable]);
    return true;
  }
  const ENode& node = log_.original(n);
  const OpRow& row = graph_.row(t.op);
  if (node.op != t.op) return false;
  if (t.has_payload && static_cast<std::int32_t>(node.child[row.children]) != static_cast<std::int32_t>(t.number))
    return false;
  for (const bool swapped : {false, true}) {
    if (swapped && !row.commutes) break;
    Pairs these;
    bool all = true;
    for (std::uint8_t c = 0; c < row.children && all; ++c)
      all = child_matches(node.child[swapped && c < 2 ? 1 - c : c], pattern, t.child[c], variables, before, these);
    if (!all) continue;
    pairs.insert(pairs.end(), these.begin(), these.end());
    return true;
  }
  return false;
}

bool Explainer::child_matches(std::uint32_t id, const Pattern& pattern, std::size_t at,
                              std::span<const std::uint32_t> variables, std::uint32_t before, Pairs& pairs) const {
  const PatternTerm& t = pattern.terms[at];
  if (t.kind != PatternTerm::Kind::node) {
    if (t.kind == PatternTerm::Kind::number && !graph_.facts(graph_.find(id)).constant) return false;
    return matches(id, pattern, at, variables, before, pairs);
  }
  for (const NodeIndex n : members_[graph_.find(id)]) {
    if (log_.original(n).op != t.op || (t.sort != kNoSort && log_.original(n).sort != t.sort) ||
        !log_.equal_before(id, n, before))
      continue;
    Pairs these;
    if (!matches(n, pattern, at, variables, before, these)) continue;
    pairs.emplace_back(id, n);
    pairs.insert(pairs.end(), these.begin(), these.end());
    return true;
  }
  return false;
}

std::uint32_t Explainer::term_of(NodeIndex n) {
  std::vector<NodeIndex> stack{n};
  while (!stack.empty()) {
    const NodeIndex top = stack.back();
    ENode node = log_.original(top);
    const std::uint8_t children = graph_.row(node.op).children;
    bool ready = true;
    for (std::uint8_t c = 0; c < children; ++c)
      if (place_[node.child[c]] == kNone) stack.push_back(node.child[c]), ready = false;
    if (!ready) continue;
    stack.pop_back();
    if (place_[top] != kNone) continue;
    for (std::uint8_t c = 0; c < children; ++c) node.child[c] = place_[node.child[c]];
    place_[top] = static_cast<std::uint32_t>(pool_.size());
    pool_.push_back(node);
  }
  return place_[n];
}

/// Returns whether a class holds an instance of a pattern. A number is met by a constant that equals it: 0 by -0 too.
bool holds_instance(const EGraph& graph, ClassId id, const Pattern& pattern, std::size_t at,
                    std::span<const ClassId> variables) {
  const PatternTerm& t = pattern.terms[at];
  if (t.kind == PatternTerm::Kind::variable) return graph.find(id) == graph.find(variables[t.variable]);
  if (t.kind == PatternTerm::Kind::number) return graph.facts(id).constant && graph.facts(id).lo == t.number;
  bool found = false;
  graph.each_node(id, [&](NodeIndex n) {
    const ENode& node = graph.node(n);
    const OpRow& row = graph.row(t.op);
    if (found || node.op != t.op || (t.sort != kNoSort && node.sort != t.sort)) return;
    if (t.has_payload && static_cast<std::int32_t>(node.child[row.children]) != static_cast<std::int32_t>(t.number))
      return;
    for (const bool swapped : {false, true}) {
      if (found || (swapped && !row.commutes)) continue;
      found = true;
      for (std::uint8_t c = 0; c < row.children && found; ++c) {
        const ClassId child = graph.find(node.child[swapped && c < 2 ? 1 - c : c]);
        found = holds_instance(graph, child, pattern, t.child[c], variables);
      }
    }
  });
  return found;
}

/// A fault of an explanation and its step; after all steps: the two terms are not equal.
struct Fault {
  std::size_t step = 0;
  std::string what;
};

/// Merges constants that differ in their last digits: different ways folded them from one value.
void join_constants(EGraph& graph, std::span<const ClassId> pool) {
  constexpr double kRounding = 1e-12;
  std::vector<ClassId> constants;
  for (const ClassId id : pool)
    if (graph.facts(graph.find(id)).constant) constants.push_back(graph.find(id));
  const auto key = [&](ClassId id) { return std::pair(graph.sort(id), graph.facts(id).lo); };
  std::sort(constants.begin(), constants.end(), [&](ClassId a, ClassId b) { return key(a) < key(b); });
  std::vector<std::pair<ClassId, ClassId>> pairs;
  for (std::size_t i = 1; i < constants.size(); ++i) {
    const auto [sort_a, a] = key(constants[i - 1]);
    const auto [sort_b, b] = key(constants[i]);
    if (sort_a == sort_b && std::fabs(a - b) <= kRounding * std::max(std::fabs(a), std::fabs(b)))
      pairs.emplace_back(constants[i - 1], constants[i]);
  }
  bool any = false;
  for (const auto& [a, b] : pairs) any = graph.merge(a, b) || any;
  if (any) graph.rebuild();
}

std::optional<Fault> first_fault(std::span<const OpRow> ops, const Semantics& semantics, std::span<const Rule> rules,
                                 const Explanation& explanation, const Believe& believe) {
  EGraph graph(ops, semantics, Limits{});
  const std::vector<ClassId> from = add(graph, explanation.from), to = add(graph, explanation.to);
  std::vector<ClassId> pool;
  for (ENode node : explanation.pool) {
    for (std::uint8_t c = 0; c < ops[node.op].children; ++c) node.child[c] = pool[node.child[c]];
    pool.push_back(graph.add(node));
  }
  std::vector<ClassId> all = pool;
  all.insert(all.end(), from.begin(), from.end()), all.insert(all.end(), to.begin(), to.end());
  const auto settle = [&] {
    graph.rebuild();
    join_constants(graph, all);
  };
  settle();
  // Facts of the terms before any step stay true afterwards. That a term depends on a variable can no longer be seen
  // once its value is known.
  std::vector<Facts> at_first;
  for (const ClassId id : pool) at_first.push_back(graph.facts(graph.find(id)));
  for (std::size_t s = 0; s < explanation.steps.size(); ++s) {
    const Step& step = explanation.steps[s];
    const auto fault = [&](const std::string& what) { return Fault{s, "step " + std::to_string(s + 1) + ": " + what}; };
    if (!step.rule) {
      if (!believe(explanation.pool, step.left, step.right))
        return fault("the two terms that the tactic joined are not equal");
      graph.merge(pool[step.left], pool[step.right]);
      settle();
      continue;
    }
    const Rule& rule = rules[*step.rule];
    std::vector<ClassId> variables;
    for (const std::uint32_t v : step.variables) variables.push_back(graph.find(pool[v]));
    for (const Condition& c : rule.conditions) {
      const std::uint8_t first = c.variable[0], second = arguments_of(c.kind) > 1 ? c.variable[1] : first;
      if (!holds(c.kind, graph.facts(variables[first]), graph.facts(variables[second])) &&
          !holds(c.kind, at_first[step.variables[first]], at_first[step.variables[second]]))
        return fault(rule.name + ": " + print(c, rule.variables) + " does not hold");
    }
    const std::uint8_t sort = graph.sort(graph.find(pool[step.left]));
    const auto side = [&](std::uint32_t node, const Pattern& pattern) {
      const ClassId id = graph.find(pool[node]);
      if (holds_instance(graph, id, pattern, pattern.terms.size() - 1, variables)) return id;
      return ClassId{instantiate(graph, pattern, variables, sort)};
    };
    const ClassId left = side(step.left, rule.left), right = side(step.right, rule.right);
    if (left == kNone || right == kNone) return fault("the graph is full");
    graph.merge(left, right);
    settle();
    if (graph.contradiction()) return fault(rule.name + ": a contradiction");
    if (graph.find(left) != graph.find(pool[step.left]) || graph.find(right) != graph.find(pool[step.right]))
      return fault(rule.name + ": its terms are not instances of the rule's sides");
  }
  for (std::size_t r = 0; r < from.size(); ++r)
    if (graph.find(from[r]) != graph.find(to[r]))
      return Fault{explanation.steps.size(), "the steps do not make both terms equal"};
  return std::nullopt;
}

/// Looks one level further down for the source of a rule's conditions. False when all levels were looked at.
bool look_further(std::uint32_t& depth) {
  if (depth == kAllLevels) return false;
  depth = depth == 0 ? 2 : depth == 2 ? 8 : kAllLevels;
  return true;
}

}  // namespace

std::optional<Explanation> explain(const EGraph& graph, const Semantics& semantics, std::span<const Rule> rules,
                                   const Term& from, std::span<const ClassId> classes, const Term& to) {
  CHECK(graph.proof_log() != nullptr);
  // Most conditions hold by equalities of their variables. The others are explained further one by one. If that goes on
  // for long, or a constant is not known then, all are explained at once.
  constexpr int kOneByOneMax = 24;
  Depths depths(graph.proof_log()->edges(), 0);
  bool all = false;
  for (int round = 0;; ++round) {
    Explainer explainer(graph, rules, depths);
    std::optional<Explanation> explanation = explainer.run(from, classes, to);
    if (!explanation) return std::nullopt;
    const std::optional<Fault> fault =
        first_fault(graph.ops(), semantics, rules, *explanation, [](const auto&, auto, auto) { return true; });
    if (!fault || all) return explanation;
    const bool at_end = fault->step == explanation->steps.size();
    all = at_end || round == kOneByOneMax || !look_further(depths[explainer.edge_of(fault->step)]);
    if (all) std::fill(depths.begin(), depths.end(), kAllLevels);
  }
}

std::optional<std::vector<bool>> needed_merges(const EGraph& graph, std::span<const Rule> rules, const Term& from,
                                               std::span<const ClassId> classes, const Term& to) {
  CHECK(graph.proof_log() != nullptr);
  const Depths depths(graph.proof_log()->edges(), 0);
  Explainer explainer(graph, rules, depths);
  if (!explainer.find_needed(from, classes, to)) return std::nullopt;
  return explainer.needed();
}

std::optional<std::string> replay(std::span<const OpRow> ops, const Semantics& semantics, std::span<const Rule> rules,
                                  const Explanation& explanation, const Believe& believe) {
  std::optional<Fault> fault = first_fault(ops, semantics, rules, explanation, believe);
  if (!fault) return std::nullopt;
  return std::move(fault->what);
}

}  // namespace trident::egraph
