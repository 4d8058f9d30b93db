#include "jit/egraph/neighbours.h"

#include <algorithm>
#include <cstring>

namespace trident::egraph {
namespace {

/// A graph of one term without merges, so that every class is one node and perhaps the constant that it equals.
class OneTerm {
 public:
  OneTerm(const SearchSpace& space, const Term& term)
      : space_(space), graph_(space.ops, space.semantics, {.nodes_max = 100'000}), classes_(add_all(graph_, term)) {
    graph_.rebuild();
    for (ClassId& id : classes_) id = graph_.find(id);
    for (const std::uint32_t root : term.roots)
      if (!classes_.empty()) roots_.push_back(classes_[root]);
  }

  [[nodiscard]] Matches matches(std::uint64_t steps) const {
    Matches found;
    Members members(graph_);
    std::vector<ClassId> asked = classes_;
    std::sort(asked.begin(), asked.end());
    asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
    Watch endless;
    for (const ClassId id : asked)
      if (!space_.matcher->match(members, id, 0, found, steps, endless)) break;
    return found;
  }

  /// Returns the term with `match` applied; without roots where that is not possible.
  Term applied(const Match& match, std::span<const ClassId> classes) {
    const Rule& rule = space_.matcher->rules()[match.rule];
    return applied(rule, match.root, classes.subspan(match.variables, rule.variables.size()));
  }

  Term applied(const Place& place) {
    std::vector<ClassId> variables;
    for (const std::uint32_t node : place.variables) variables.push_back(classes_[node]);
    return applied(space_.matcher->rules()[place.rule], classes_[place.root], variables);
  }

 private:
  static constexpr std::uint32_t kUnderWay = kNone - 1;

  Term applied(const Rule& rule, ClassId root, std::span<const ClassId> variables) {
    const auto wanted = [&](ClassId id) { return (space_.sorts >> graph_.sort(graph_.find(id))) & 1; };
    if (!wanted(root) || !std::all_of(variables.begin(), variables.end(), wanted)) return {};
    const NodeIndex right = instantiate(graph_, rule.right, variables, graph_.sort(root));
    if (right == kNone) return {};
    graph_.rebuild();
    replaced_ = graph_.find(root);
    instead_ = graph_.find(right);
    place_.assign(graph_.size(), kNone);
    Term term;
    for (const ClassId top : roots_) {
      const std::uint32_t at = copy(graph_.find(top), term);
      if (at == kNone) return {};
      term.roots.push_back(at);
    }
    return term;
  }

  [[nodiscard]] NodeIndex node_of(ClassId id) const {
    NodeIndex chosen = kNone;
    graph_.each_node(id, [&](NodeIndex n) {
      if (chosen == kNone || space_.ops[graph_.node(n).op].children == 0) chosen = n;
    });
    return chosen;
  }

  // Returns kNone where the right side contains the node that it replaces.
  std::uint32_t copy(ClassId id, Term& term) {
    if (id == replaced_) id = instead_;
    if (place_[id] == kUnderWay) return kNone;
    if (place_[id] != kNone) return place_[id];
    place_[id] = kUnderWay;
    ENode node = graph_.node(node_of(id));
    node.flags = 0;
    for (std::uint8_t c = 0; c < space_.ops[node.op].children; ++c) {
      node.child[c] = copy(graph_.find(node.child[c]), term);
      if (node.child[c] == kNone) return kNone;
    }
    term.nodes.push_back(node);
    return place_[id] = static_cast<std::uint32_t>(term.nodes.size()) - 1;
  }

  const SearchSpace& space_;
  EGraph graph_;
  std::vector<ClassId> classes_;  ///< per node of the term
  std::vector<ClassId> roots_;
  ClassId replaced_ = kNone, instead_ = kNone;
  std::vector<std::uint32_t> place_;  ///< per class: in the term under construction
};

bool same(const Term& a, const Term& b) {
  return a.roots == b.roots && a.nodes.size() == b.nodes.size() &&
         std::memcmp(a.nodes.data(), b.nodes.data(), a.nodes.size() * sizeof(ENode)) == 0;
}

}  // namespace

std::vector<Term> neighbours(const SearchSpace& space, const Term& initial, std::uint64_t steps_max) {
  OneTerm from(space, initial);
  const Matches found = from.matches(steps_max);
  std::vector<Term> terms;
  for (const Match& match : found.list) {
    Term term = from.applied(match, found.classes);
    const auto equal = [&](const Term& other) { return same(term, other); };
    if (!term.roots.empty() && std::none_of(terms.begin(), terms.end(), equal)) terms.push_back(std::move(term));
  }
  return terms;
}

std::vector<Term> rewritten_at(const SearchSpace& space, const Term& initial, std::span<const Place> places) {
  OneTerm from(space, initial);
  std::vector<Term> terms;
  for (const Place& place : places) terms.push_back(from.applied(place));
  return terms;
}

}  // namespace trident::egraph
