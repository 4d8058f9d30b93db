#include "jit/nnue/network_guide.h"

#include <algorithm>
#include <cmath>

#include "jit/nnue/rule_keys.h"

namespace trident::nnue {
namespace {

constexpr double kPerDoubling = 32;
// Number of matches without a cheaper incumbent (and more per node of the term) after which a graph is left: a new one
// that begins with the best term is smaller, and its matches are scored anew.
constexpr std::uint32_t kPatience = 64, kPatiencePerNode = 1;
// Number of candidates scored anew for each that is taken.
constexpr std::size_t kRescored = 4;
// Share of steps that are taken at random, for each unit of noise.
constexpr double kExplore = 0.04;
// Score of matches without an afterstate: below all others.
constexpr std::int32_t kPrior = -(1 << 30);

std::int64_t logarithmic(double x) {
  const double size = kPerDoubling * std::log2(1 + std::min(std::fabs(x), 1e9));
  return std::lround(x < 0 ? -size : size);
}

std::uint64_t next(std::uint64_t& state) {
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return state * 0x2545'F491'4F6C'DD1Du;
}

}  // namespace

RuleCost cost_of(const egraph::Rule& rule, const egraph::CostModel& costs) {
  RuleCost cost;
  cost.variables = static_cast<std::uint8_t>(rule.variables.size());
  for (const egraph::PatternTerm& t : rule.right.terms) {
    if (t.kind == egraph::PatternTerm::Kind::node) cost.ops += costs.of({.op = t.op});
    if (t.kind == egraph::PatternTerm::Kind::variable) ++cost.uses[t.variable];
  }
  return cost;
}

// --- SearchContext ---

void SearchContext::begin(const egraph::GuidedGraph& graph, const Follower& follower) {
  graph_ = &graph.graph, follower_ = &follower;
  if (graph.first || costs_.size() != graph.rules.size()) {
    costs_.clear();
    for (const egraph::Rule& rule : graph.rules) costs_.push_back(cost_of(rule, graph.costs));
  }
  of_rules_.assign(graph.rules.size(), {});
  taken_.clear();
}

void SearchContext::fill(const Candidate& candidate, Scalars& out) const {
  const RuleCost& rule = costs_[candidate.rule];
  double cost = rule.ops;
  for (std::uint8_t v = 0; v < rule.variables; ++v)
    if (rule.uses[v] > 0) cost += rule.uses[v] * follower_->cost(graph_->find(candidate.variables[v]));
  const OfRule& so_far = of_rules_[candidate.rule];
  out.set(Scalar::cost_change, logarithmic(cost - follower_->cost(graph_->find(candidate.root))));
  out.set(Scalar::rule_hits, logarithmic(so_far.hits));
  out.set(Scalar::rule_benefit, so_far.hits == 0 ? 0 : logarithmic(so_far.benefit / so_far.hits));
  out.set(Scalar::budget_left, 128 * std::uint64_t{graph_->room()} / (std::uint64_t{graph_->room()} + graph_->size()));
}

void SearchContext::took(egraph::RuleIndex rule) {
  ++of_rules_[rule].hits;
  taken_.push_back(rule);
}

void SearchContext::brought(double gain) {
  for (const egraph::RuleIndex rule : taken_) of_rules_[rule].benefit += gain / static_cast<double>(taken_.size());
  taken_.clear();
}

// --- NetworkGuide ---

NetworkGuide::NetworkGuide(const nn::AccumulatorWeights& weights, const KindTable& kinds, unsigned depth)
    : follower_(weights, kinds, depth) {}

void NetworkGuide::begin(const egraph::GuidedGraph& graph) {
  if (candidates_ && rules_.data() == graph.rules.data() && rules_.size() == graph.rules.size()) {
    candidates_->clear();
    counts_.moves += follower_.incumbent().moves(), counts_.rebuilds += follower_.incumbent().rebuilds();
  } else {
    counts_ = counts();
    candidates_.reset();
    rows_ = rows_of(graph.rules, graph.graph.ops(), follower_.incumbent().weights().keys());
  }
  rules_ = graph.rules;
  explore_ = kExplore * graph.noise;
  random_ = graph.seed | 1;
  waiting_.clear();
  fruitless_ = 0, from_nodes_ = static_cast<std::uint32_t>(graph.from.nodes.size());
  if (!follower_.begin(graph)) return;
  cost_ = follower_.cost();
  context_.begin(graph, follower_);
  if (candidates_) return;
  candidates_.emplace(
      graph.rules, follower_.afterstates(), follower_.incumbent(), &follower_.hosts(),
      [this](const Candidate& candidate, Scalars& out) { context_.fill(candidate, out); }, rows_);
}

void NetworkGuide::add(std::span<const Candidate> matches) {
  if (follower_.holds())
    candidates_->add(matches, Scalars{}, kPrior, true);
  else
    waiting_.insert(waiting_.end(), matches.begin(), matches.end());
}

std::optional<Candidate> NetworkGuide::take() {
  std::optional<Candidate> taken;
  if (fruitless_ > kPatience + kPatiencePerNode * from_nodes_) return std::nullopt;
  ++fruitless_;
  if (candidates_ && follower_.holds()) {
    const bool any = explore_ > 0 && static_cast<double>(next(random_) >> 11) * 0x1p-53 < explore_;
    taken = any ? candidates_->take_any(next(random_)) : candidates_->take_best(kRescored);
    if (taken) context_.took(taken->rule);
  } else if (!waiting_.empty()) {
    taken = waiting_.back();
    waiting_.pop_back();
  }
  counts_.steps += taken.has_value() ? 1 : 0;
  return taken;
}

void NetworkGuide::follow() {
  if (!follower_.holds()) return;
  follower_.follow();
  if (!follower_.holds()) return;
  context_.brought(cost_ - follower_.cost());
  if (follower_.cost() < cost_) fruitless_ = 0;
  cost_ = follower_.cost();
}

NetworkGuide::Counts NetworkGuide::counts() const {
  Counts all = counts_;
  if (!candidates_) return all;
  all.built += candidates_->built(), all.scored += candidates_->scored();
  all.moves += follower_.incumbent().moves(), all.rebuilds += follower_.incumbent().rebuilds();
  return all;
}

}  // namespace trident::nnue
