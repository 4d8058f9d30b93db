#include "jit/nnue/follower.h"

#include <algorithm>
#include <limits>

namespace trident::nnue {

using egraph::ENode;
using egraph::kNone;
using egraph::NodeIndex;

namespace {

// Least cost of a node: without cost a choice could need itself at the same cost.
constexpr double kLeastCost = 1.0 / 64;
// Largest sum of costs: beyond it a node's own cost is lost by rounding.
constexpr double kMostCost = 1e12;
enum Mark : std::uint8_t { kFallen = 1, kChanged = 2 };

}  // namespace

Follower::Follower(const nn::AccumulatorWeights& weights, const KindTable& kinds, unsigned depth)
    : kinds_(kinds), incumbent_(weights, depth) {}

double Follower::own_cost(const ENode& node) const {
  std::array<std::uint8_t, 3> stages{};
  const std::uint8_t children = graph_->row(node.op).children;
  for (std::uint8_t c = 0; costs_->stage != nullptr && c < children; ++c)
    stages[c] = graph_->facts(graph_->find(node.child[c])).stage;
  const double cost =
      costs_->of(node, costs_->stage != nullptr ? costs_->stage(node, stages) : egraph::kStageOfElements);
  return std::max(cost, kLeastCost);
}

bool Follower::begin(const egraph::GuidedGraph& graph) {
  graph_ = &graph.graph, costs_ = &graph.costs;
  incumbent_.clear();
  total_.clear(), chosen_.clear(), marks_.clear(), fallen_.clear(), changed_.clear();
  hosts_.clear();
  unions_ = graph_->unions().size();
  grow();
  for (NodeIndex n = 0; n < graph_->size(); ++n) offer(n);
  propagate();
  changed_.clear();
  std::fill(marks_.begin(), marks_.end(), std::uint8_t{0});
  roots_.clear();
  for (const std::uint32_t root : graph.from.roots) roots_.push_back(graph.classes[root]);
  holds_ = cost() < kMostCost;
  if (!holds_) return false;
  afterstates_.emplace(*graph_, graph.semantics, kinds_, incumbent_, chosen_, &hosts_);
  for (const ClassId root : roots_) {
    know(graph_->find(root));
    incumbent_.add_root(graph_->find(root));
  }
  for (const ClassId root : roots_) hosts_.offer(graph_->find(root), 0, kNone);
  find_hosts(0);
  return true;
}

double Follower::cost() const {
  double sum = 0;
  for (const ClassId root : roots_) sum += total_[graph_->find(root)];
  return sum;
}

void Follower::grow() {
  const std::size_t size = graph_->size();
  total_.resize(size, std::numeric_limits<double>::infinity());
  chosen_.resize(size, kNone);
  marks_.resize(size, 0);
  hosts_.grow(graph_->size());
}

void Follower::offer(NodeIndex n) {
  const ENode& node = graph_->node(n);
  double cost = 0;
  for (std::uint8_t c = 0; c < graph_->row(node.op).children; ++c) cost += total_[graph_->find(node.child[c])];
  const ClassId id = graph_->find(n);
  if (!(cost < total_[id])) return;
  cost += own_cost(node);
  if (!(cost < total_[id]) || cost > kMostCost) return;
  total_[id] = cost;
  chosen_[id] = n;
  if (!(marks_[id] & kFallen)) marks_[id] |= kFallen, fallen_.push_back(id);
  if (!(marks_[id] & kChanged)) marks_[id] |= kChanged, changed_.push_back(id);
}

void Follower::propagate() {
  for (std::size_t i = 0; i < fallen_.size(); ++i) {
    const ClassId id = fallen_[i];
    marks_[id] &= static_cast<std::uint8_t>(~kFallen);
    graph_->each_user(id, [&](NodeIndex user) { offer(user); });
  }
  fallen_.clear();
}

// Gives united classes the cheaper choice of both.
void Follower::unite() {
  const std::span<const egraph::Union> all = graph_->unions();
  for (std::size_t i = unions_; i < all.size(); ++i) {
    const auto [kept, gone] = all[i];
    hosts_.unite(kept, gone);
    if (total_[gone] < total_[kept]) total_[kept] = total_[gone], chosen_[kept] = chosen_[gone];
    for (const ClassId id : {kept, graph_->find(kept)}) {
      if (marks_[id] & kChanged) continue;
      marks_[id] |= kChanged;
      changed_.push_back(id);
    }
  }
  // Costs of the users of both sides may be too high now; classes that were merged away have none.
  for (std::size_t i = unions_; i < all.size(); ++i) {
    const ClassId id = graph_->find(all[i].kept);
    if (!(marks_[id] & kFallen)) marks_[id] |= kFallen, fallen_.push_back(id);
  }
}

void Follower::know(ClassId id) {
  unknown_.assign(1, id);
  while (!unknown_.empty()) {
    const ClassId at = unknown_.back();
    unknown_.pop_back();
    if (incumbent_.knows(at)) continue;
    const Choice choice = afterstates_->choice_of(chosen_[at]);
    incumbent_.choose(at, choice);
    unknown_.insert(unknown_.end(), choice.child.begin(), choice.child.begin() + choice.arity);
  }
}

// Tells the incumbent of changes by rising cost, so that the operands of a choice come first and are not told again.
// Classes that it does not know are told when it needs them.
void Follower::tell() {
  const std::span<const egraph::Union> all = graph_->unions();
  // Sorts the parts of one class together.
  parts_.clear();
  for (std::size_t i = unions_; i < all.size(); ++i) parts_.push_back({graph_->find(all[i].kept), all[i].gone});
  const auto by_class = [](const egraph::Union& a, const egraph::Union& b) { return a.kept < b.kept; };
  std::stable_sort(parts_.begin(), parts_.end(), by_class);
  std::erase_if(changed_, [&](ClassId id) { return graph_->find(id) != id; });
  std::sort(changed_.begin(), changed_.end(),
            [&](ClassId a, ClassId b) { return total_[a] != total_[b] ? total_[a] < total_[b] : a < b; });
  for (const ClassId id : changed_) {
    const auto [first, last] = std::equal_range(parts_.begin(), parts_.end(), egraph::Union{id, kNone}, by_class);
    const auto is_known = [&](const egraph::Union& u) { return incumbent_.knows(u.gone); };
    if (!incumbent_.knows(id) && std::none_of(first, last, is_known)) continue;
    if (chosen_[id] == kNone) continue;
    const Choice choice = afterstates_->choice_of(chosen_[id]);
    for (std::uint8_t c = 0; c < choice.arity; ++c) know(choice.child[c]);
    incumbent_.choose(id, choice);
    for (auto part = first; part != last; ++part)
      if (is_known(*part)) incumbent_.unite(part->gone, id);
  }
}

// Finds for new classes the way of least regret among those over new nodes.
void Follower::find_hosts(NodeIndex first) {
  // Nodes above mostly have greater numbers than those below.
  for (NodeIndex n = graph_->size(); n-- > first;) {
    const ClassId id = graph_->find(n);
    const double regret = hosts_.regret(id);
    if (regret == std::numeric_limits<double>::infinity()) continue;
    const ENode& node = graph_->node(n);
    const std::uint8_t children = graph_->row(node.op).children;
    if (children == 0) continue;
    double cost = n == chosen_[id] ? total_[id] : own_cost(node);
    for (std::uint8_t c = 0; c < children && n != chosen_[id]; ++c) cost += total_[graph_->find(node.child[c])];
    const double lost = regret + std::max(0.0, cost - total_[id]);
    for (std::uint8_t c = 0; c < children; ++c) hosts_.offer(graph_->find(node.child[c]), lost, n);
  }
}

void Follower::follow() {
  if (!holds_) return;
  const auto first = static_cast<NodeIndex>(total_.size());
  grow();
  unite();
  for (NodeIndex n = first; n < graph_->size(); ++n) offer(n);
  propagate();
  holds_ = cost() < kMostCost;
  if (!holds_) return;
  tell();
  for (const ClassId id : changed_) marks_[id] &= static_cast<std::uint8_t>(~kChanged);
  changed_.clear();
  unions_ = graph_->unions().size();
  afterstates_->set_chosen(chosen_);
  find_hosts(first);
}

}  // namespace trident::nnue
