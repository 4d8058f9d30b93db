#include "jit/egraph/extract.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <memory>

namespace trident::egraph {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Local improvement goes through the chosen classes at most this often.
constexpr int kImprovementRounds = 4;
// Penalty in diverse() for choosing a node again, as a share of its cost.
constexpr double kRepeatShare = 0.6;
// At equal cost the form with fewer operands wins: x * 2, not fma(x, 2, 0).
constexpr double kOperandCost = 1e-6;
// Words of the sets of needed classes, which grow with the square of a graph: 64 MiB, some 22,000 classes. A larger
// graph keeps the choice by tree cost.
constexpr std::size_t kNeedsMax = std::size_t{8} << 20;
// Steps of a watch for a node's pass through the queue.
constexpr std::uint64_t kQueueSteps = 4;

}  // namespace

Extractor::Extractor(const EGraph& graph, const CostModel& costs, Watch watch)
    : graph_(graph), costs_(costs), watch_(std::move(watch)), node_cost_(graph.size()), mark_(graph.size(), 0) {
  for (NodeIndex n = 0; n < graph.size(); ++n) {
    if (watch_.spend()) return;
    const ENode& node = graph.node(n);
    std::array<std::uint8_t, 3> children{};
    for (std::uint8_t c = 0; costs.stage != nullptr && c < graph.row(node.op).children; ++c)
      children[c] = graph.facts(graph.find(node.child[c])).stage;
    node_cost_[n] = costs.of(node, costs.stage != nullptr ? costs.stage(node, children) : kStageOfElements) +
                    kOperandCost * graph.row(node.op).children;
  }
}

// Goes bottom-up to a fixed point: a class's cost only falls, and tells its users when it does. Returns false when the
// time is up: the choice is unfinished then.
bool Extractor::choose_by_tree() {
  choice_.assign(graph_.size(), kNone);
  total_.assign(graph_.size(), kInfinite);
  std::deque<NodeIndex> work;
  for (NodeIndex n = 0; n < graph_.size(); ++n) {
    if (graph_.row(graph_.node(n).op).children == 0) work.push_back(n);
  }
  while (!work.empty()) {
    const NodeIndex n = work.front();
    work.pop_front();
    if (watch_.spend(kQueueSteps)) return false;
    double cost = node_cost_[n];
    const ENode& node = graph_.node(n);
    for (std::uint8_t c = 0; c < graph_.row(node.op).children; ++c) cost += total_[graph_.find(node.child[c])];
    const ClassId id = graph_.find(n);
    if (!(cost < total_[id])) continue;
    total_[id] = cost;
    choice_[id] = n;
    graph_.each_user(id, [&](NodeIndex user) { work.push_back(user); });
  }
  return !watch_.late();
}

// Runs after choose_by_tree(). Returns false when the time is up or the graph is too large for the memory: the choice
// is unfinished then.
bool Extractor::choose_by_dag() {
  // Dense numbers for the classes that have a term.
  std::vector<std::uint32_t> number(graph_.size(), kNone);
  std::vector<ClassId> classes;
  for (ClassId id = 0; id < graph_.size(); ++id) {
    if (graph_.find(id) == id && choice_[id] != kNone) {
      number[id] = static_cast<std::uint32_t>(classes.size());
      classes.push_back(id);
    }
  }
  const std::size_t words = (classes.size() + 63) / 64;
  const std::size_t bytes = classes.size() * words * sizeof(std::uint64_t);
  if (classes.size() * words > kNeedsMax || !watch_.hold(bytes)) return false;
  const bool done = choose_by_needs(classes, number);
  watch_.release(bytes);
  return done;
}

bool Extractor::choose_by_needs(std::span<const ClassId> classes, std::span<const std::uint32_t> number) {
  const std::size_t words = (classes.size() + 63) / 64;
  // A class's set is written before it is read: filling them all beforehand would take time.
  const auto needs = std::make_unique_for_overwrite<std::uint64_t[]>(classes.size() * words);
  std::vector<std::uint64_t> fresh(words);
  std::vector<double> own(classes.size(), 0);
  std::fill(choice_.begin(), choice_.end(), kNone);
  std::fill(total_.begin(), total_.end(), kInfinite);
  std::deque<NodeIndex> work;
  std::vector<bool> waiting(graph_.size(), false);
  for (NodeIndex n = 0; n < graph_.size(); ++n) {
    if (graph_.row(graph_.node(n).op).children == 0) work.push_back(n), waiting[n] = true;
  }
  std::uint64_t steps = 64 + 40ull * graph_.size();  // costs of shared parts go stale: not always monotone
  while (!work.empty() && steps-- > 0) {
    const NodeIndex n = work.front();
    work.pop_front();
    waiting[n] = false;
    if (watch_.spend(kQueueSteps + words / 2)) return false;
    const ClassId id = graph_.find(n);
    const std::uint32_t self = number[id];
    if (self == kNone) continue;
    const ENode& node = graph_.node(n);
    // Starts from the child that needs most; adds what the others need besides.
    const std::uint8_t children = graph_.row(node.op).children;
    ClassId largest = kNone;
    bool complete = true;
    for (std::uint8_t c = 0; c < children; ++c) {
      const ClassId child = graph_.find(node.child[c]);
      if (choice_[child] == kNone) complete = false;
      if (largest == kNone || total_[child] > total_[largest]) largest = child;
    }
    if (!complete) continue;
    double cost = node_cost_[n];
    std::fill(fresh.begin(), fresh.end(), 0);
    if (largest != kNone) {
      const auto* from = &needs[number[largest] * words];
      std::copy(from, from + words, fresh.begin());
      cost += total_[largest];
      for (std::uint8_t c = 0; c < children; ++c) {
        const ClassId child = graph_.find(node.child[c]);
        if (child == largest) continue;
        const auto* more = &needs[number[child] * words];
        for (std::size_t w = 0; w < words; ++w) {
          std::uint64_t added = more[w] & ~fresh[w];
          fresh[w] |= added;
          for (; added != 0; added &= added - 1) cost += own[w * 64 + static_cast<unsigned>(std::countr_zero(added))];
        }
      }
    }
    if ((fresh[self / 64] >> (self % 64)) & 1) continue;  // needs itself
    if (!(cost < total_[id])) continue;
    fresh[self / 64] |= std::uint64_t{1} << (self % 64);
    std::copy(fresh.begin(), fresh.end(), &needs[self * words]);
    own[self] = node_cost_[n];
    total_[id] = cost;
    choice_[id] = n;
    graph_.each_user(id, [&](NodeIndex user) {
      if (!waiting[user]) work.push_back(user), waiting[user] = true;
    });
  }
  return true;
}

bool Extractor::visit(ClassId id, double& sum, std::vector<ClassId>* used) {
  id = graph_.find(id);
  if (mark_[id] == stamp_ + 1) return true;
  if (hurried_ && watch_.spend()) return false;
  if (mark_[id] == stamp_ || choice_[id] == kNone) return false;  // on the way here: a cycle
  mark_[id] = stamp_;
  const ENode& node = graph_.node(choice_[id]);
  for (std::uint8_t c = 0; c < graph_.row(node.op).children; ++c) {
    if (!visit(node.child[c], sum, used)) return false;
  }
  mark_[id] = stamp_ + 1;
  sum += node_cost_[choice_[id]];
  if (used != nullptr) used->push_back(id);
  return true;
}

double Extractor::cost_below(std::span<const ClassId> roots, std::vector<ClassId>* used) {
  stamp_ += 2;
  double sum = 0;
  for (const ClassId root : roots) {
    if (!visit(root, sum, used)) return kInfinite;
  }
  return sum;
}

void Extractor::improve(std::span<const ClassId> roots) {
  std::vector<ClassId> used;
  double best = cost_below(roots, &used);
  for (int round = 0; round < kImprovementRounds; ++round) {
    bool better = false;
    for (const ClassId id : std::vector<ClassId>(used)) {
      graph_.each_node(id, [&](NodeIndex n) {
        const NodeIndex before = choice_[id];
        if (n == before || node_cost_[n] >= best || watch_.late()) return;
        choice_[id] = n;
        const double cost = cost_below(roots, nullptr);
        if (cost < best) {
          best = cost;
          better = true;
        } else {
          choice_[id] = before;
        }
      });
    }
    if (!better || watch_.late()) break;
    used.clear();
    best = cost_below(roots, &used);
  }
}

Term Extractor::build(std::span<const ClassId> roots) {
  std::vector<ClassId> order;
  if (cost_below(roots, &order) == kInfinite) return {};
  Term term;
  std::vector<std::uint32_t> place(graph_.size(), kNone);
  for (const ClassId id : order) {
    ENode node = graph_.node(choice_[id]);
    node.flags = 0;
    for (std::uint8_t c = 0; c < graph_.row(node.op).children; ++c) node.child[c] = place[graph_.find(node.child[c])];
    place[id] = static_cast<std::uint32_t>(term.nodes.size());
    term.nodes.push_back(node);
    term.origin.push_back(choice_[id]);
  }
  for (const ClassId root : roots) term.roots.push_back(place[graph_.find(root)]);
  return term;
}

Term Extractor::tree(std::span<const ClassId> roots) {
  return choose_by_tree() ? build(roots) : Term{};
}

Term Extractor::dag(std::span<const ClassId> roots) {
  if (!choose_by_tree()) return {};
  const double by_tree = cost_below(roots, nullptr);
  const std::vector<NodeIndex> tree_choice = choice_;
  const bool in_time = !watch_.look() && choose_by_dag();
  if (!in_time || !(cost_below(roots, nullptr) <= by_tree)) choice_ = tree_choice;
  hurried_ = true;
  if (in_time) improve(roots);
  hurried_ = false;
  return build(roots);
}

std::vector<Term> Extractor::diverse(std::span<const ClassId> roots, std::size_t count) {
  std::vector<Term> found;
  const std::vector<double> true_costs = node_cost_;
  for (std::size_t attempt = 0; attempt < 2 * count && found.size() < count; ++attempt) {
    Term term = dag(roots);
    if (term.roots.empty()) break;
    std::vector<ClassId> used;
    cost_below(roots, &used);
    for (const ClassId id : used) node_cost_[choice_[id]] += kRepeatShare * true_costs[choice_[id]] + 0.25;
    const auto equal = [&](const Term& t) {
      return t.roots == term.roots && std::equal(t.nodes.begin(), t.nodes.end(), term.nodes.begin(), term.nodes.end(),
                                                 [](const ENode& a, const ENode& b) {
                                                   return a.op == b.op && a.sort == b.sort && a.child == b.child;
                                                 });
    };
    if (std::none_of(found.begin(), found.end(), equal)) found.push_back(std::move(term));
  }
  node_cost_ = true_costs;
  std::stable_sort(found.begin(), found.end(), [&](const Term& a, const Term& b) {
    return dag_cost(a, graph_.ops(), costs_) < dag_cost(b, graph_.ops(), costs_);
  });
  return found;
}

}  // namespace trident::egraph
