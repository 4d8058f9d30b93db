#include "jit/nnue/afterstate.h"
#include "jit/egraph/matcher.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "jit/egraph/matcher.h"

namespace trident::nnue {

using egraph::EGraph;
using egraph::ENode;
using egraph::kNone;
using egraph::NodeIndex;
using egraph::OpRow;
using egraph::PatternTerm;

Hosts::Hosts(const EGraph& graph, std::span<const NodeIndex> chosen, const egraph::CostModel& costs,
             std::span<const ClassId> roots)
    : regret_(graph.size(), std::numeric_limits<double>::infinity()), user_(graph.size(), kNone) {
  // Tree costs of the choices, children first; a class reached again while in progress is on a cycle: infinite cost.
  constexpr double kUnseen = -1;
  std::vector<double> best(graph.size(), kUnseen);
  const auto own = [&](NodeIndex n) {
    const ENode& node = graph.node(n);
    std::array<std::uint8_t, 3> stages{};
    for (std::uint8_t c = 0; costs.stage != nullptr && c < graph.row(node.op).children; ++c)
      stages[c] = graph.facts(graph.find(node.child[c])).stage;
    return costs.of(node, costs.stage != nullptr ? costs.stage(node, stages) : egraph::kStageOfElements);
  };
  std::vector<ClassId> stack;
  const auto best_of = [&](ClassId top) {
    stack.push_back(top);
    while (!stack.empty()) {
      const ClassId id = stack.back();
      if (best[id] == kUnseen) best[id] = std::numeric_limits<double>::infinity();
      if (chosen[id] == kNone) {
        stack.pop_back();
        continue;
      }
      const ENode& node = graph.node(chosen[id]);
      double cost = own(chosen[id]);
      bool ready = true;
      for (std::uint8_t c = 0; c < graph.row(node.op).children; ++c) {
        const ClassId child = graph.find(node.child[c]);
        if (best[child] == kUnseen) {
          stack.push_back(child);
          ready = false;
        } else {
          cost += best[child];
        }
      }
      if (!ready) continue;
      best[id] = cost;
      stack.pop_back();
    }
    return best[top];
  };
  using Entry = std::pair<double, ClassId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const ClassId root : roots) {
    regret_[graph.find(root)] = 0;
    queue.emplace(0, graph.find(root));
  }
  while (!queue.empty()) {
    const auto [regret, p] = queue.top();
    queue.pop();
    if (regret > regret_[p]) continue;
    graph.each_node(p, [&, regret = regret, p = p](NodeIndex n) {
      const ENode& node = graph.node(n);
      const std::uint8_t children = graph.row(node.op).children;
      if (children == 0) return;
      double cost = own(n);
      for (std::uint8_t c = 0; c < children; ++c) {
        const ClassId child = graph.find(node.child[c]);
        cost += best[child] != kUnseen ? best[child] : best_of(child);
      }
      const double lost = regret + std::max(0.0, cost - (best[p] != kUnseen ? best[p] : best_of(p)));
      for (std::uint8_t c = 0; c < children; ++c) {
        const ClassId child = graph.find(node.child[c]);
        if (!(lost < regret_[child])) continue;
        regret_[child] = lost;
        user_[child] = n;
        queue.emplace(lost, child);
      }
    });
  }
}

Choice Afterstates::choice_of(NodeIndex index) const {
  const ENode& node = graph_.node(index);
  Choice choice{kinds_.of(node), graph_.row(node.op).children, {}};
  for (std::uint8_t c = 0; c < choice.arity; ++c) choice.child[c] = graph_.find(node.child[c]);
  return choice;
}

void Afterstates::begin(const egraph::Term& term) {
  for (const NodeIndex node : term.origin) incumbent_.choose(graph_.find(node), choice_of(node));
  for (const std::uint32_t root : term.roots) incumbent_.add_root(graph_.find(term.origin[root]));
}

// Makes known the choices of a class and of all classes that it needs.
bool Afterstates::know(ClassId id) {
  if (incumbent_.knows(id)) return true;
  unknown_.assign(1, id);
  while (!unknown_.empty()) {
    const ClassId at = unknown_.back();
    unknown_.pop_back();
    if (incumbent_.knows(at)) continue;
    if (at >= chosen_.size() || chosen_[at] == kNone) return false;
    const Choice choice = choice_of(chosen_[at]);
    incumbent_.choose(at, choice);
    unknown_.insert(unknown_.end(), choice.child.begin(), choice.child.begin() + choice.arity);
  }
  return true;
}

// Needs a free place. New nodes have greater numbers than classes, so they also come behind them in the graph's order.
std::uint32_t Afterstates::append(ENode node, Afterstate& out) {
  const OpRow& row = graph_.row(node.op);
  if (row.commutes && node.child[0] > node.child[1]) std::swap(node.child[0], node.child[1]);
  Choice& choice = out.overlay.nodes[out.overlay.count];
  choice.kind = kinds_.of(node);
  choice.arity = row.children;
  std::copy_n(node.child.begin(), row.children, choice.child.begin());
  nodes_[out.overlay.count] = node;
  return overlay_child(out.overlay.count++);
}

// Returns the node's class if the graph has it and the incumbent may know it, else an overlay's node. The children are
// classes or overlay_child().
Afterstates::Made Afterstates::make(ENode node, Afterstate& out) {
  const OpRow& row = graph_.row(node.op);
  bool in_graph = true;
  for (std::uint8_t c = 0; c < row.children; ++c) in_graph = in_graph && node.child[c] < overlay_child(0);
  if (in_graph) {
    const ClassId found = graph_.lookup(node);
    if (found != kNone && know(found)) return {found, node.sort};
  }
  if (row.commutes && node.child[0] > node.child[1]) std::swap(node.child[0], node.child[1]);
  for (std::uint32_t n = 0; n < out.overlay.count; ++n)
    if (nodes_[n].op == node.op && nodes_[n].sort == node.sort && nodes_[n].child == node.child)
      return {overlay_child(n), node.sort};
  if (out.overlay.count == kOverlayMax) return {};
  ++out.made;
  return {append(node, out), node.sort};
}

bool Afterstates::build(const egraph::Rule& rule, ClassId root, std::span<const ClassId> variables, Afterstate& out) {
  root = graph_.find(root);
  const std::uint8_t root_sort = graph_.sort(root);
  out.overlay.count = out.made = out.steps = 0;
  std::array<Made, egraph::kPatternTermsMax> made;
  ENode last;  // the pattern's last node
  const std::vector<PatternTerm>& terms = rule.right.terms;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const PatternTerm& t = terms[i];
    if (t.kind == PatternTerm::Kind::number) {
      made[i] = {};  // its user knows the sort
      continue;
    }
    if (t.kind == PatternTerm::Kind::variable) {
      const ClassId id = graph_.find(variables[t.variable]);
      if (!know(id)) return false;
      made[i] = {id, graph_.sort(id)};
      continue;
    }
    // Builds the node as egraph::instantiate() does.
    const OpRow& row = graph_.row(t.op);
    ENode node;
    node.op = t.op;
    for (std::uint8_t c = 0; c < row.children; ++c) {
      Made& child = made[t.child[c]];
      if (child.at == kNone) {
        const PatternTerm& number = terms[t.child[c]];
        const std::uint8_t sort = egraph::sort_of(graph_, number, variables, root_sort);
        child = make(semantics_.constant(semantics_.context, sort, number.number), out);
        if (child.at == kNone) return false;
      }
      node.child[c] = child.at;
    }
    if (t.has_payload && row.children < 3)
      node.child[row.children] = static_cast<std::uint32_t>(static_cast<std::int32_t>(t.number));
    node.sort = t.sort != egraph::kNoSort     ? t.sort
                : row.sort != egraph::kNoSort ? row.sort
                : row.children == 0           ? std::uint8_t{0}
                                              : made[t.child[row.sort_child]].sort;
    made[i] = make(node, out);
    if (made[i].at == kNone) return false;
    last = node;
  }
  Made& top = made[terms.size() - 1];
  if (terms.back().kind == PatternTerm::Kind::number) {
    last = semantics_.constant(semantics_.context, root_sort, terms.back().number);
    top = make(last, out);
  }
  if (top.at == kNone) return false;
  // `top` is a member of the rewritten class: the class would choose it.
  if (top.at == root) {
    if (terms.back().kind == PatternTerm::Kind::variable || out.overlay.count == kOverlayMax) return false;
    top.at = append(last, out);
  }
  return climb(root, top.at, out);
}

// Climbs from the rewritten class, which `top` represents, up to T.
bool Afterstates::climb(ClassId root, std::uint32_t top, Afterstate& out) {
  while (!incumbent_.holds(root)) {
    if (hosts_ == nullptr || out.steps == kStepsMax || out.overlay.count == kOverlayMax) return false;
    const NodeIndex user = hosts_->user(root);
    if (user == kNone) return false;
    Choice& choice = out.overlay.nodes[out.overlay.count];
    choice = choice_of(user);
    for (std::uint8_t c = 0; c < choice.arity; ++c) {
      if (choice.child[c] == root)
        choice.child[c] = top;
      else if (!know(choice.child[c]))
        return false;
    }
    top = overlay_child(out.overlay.count++);
    root = graph_.find(user);
    ++out.steps;
  }
  out.from = root;
  out.to = top < overlay_child(0) ? top : kNone;
  return true;
}

}  // namespace trident::nnue
