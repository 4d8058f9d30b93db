#include "jit/learn/episodes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <tuple>

#include "jit/egraph/explain.h"

namespace trident::learn {

using egraph::Candidate;

void GuideSamples::features_of(const GuideSample& sample, bool delta, std::vector<std::uint32_t>& out) const {
  const State& state = states[sample.state];
  const auto at = [](const std::vector<std::uint32_t>& from, std::uint32_t i) {
    return from.begin() + static_cast<std::ptrdiff_t>(i);
  };
  out.clear();
  if (!delta) {
    out.assign(at(features, state.first), at(features, state.end));
    return;
  }
  std::set_difference(at(features, state.first), at(features, state.end), at(changes, sample.first_lost),
                      at(changes, sample.first_gained), std::back_inserter(out));
  out.insert(out.end(), at(changes, sample.first_gained), at(changes, sample.end));
}

std::array<std::int16_t, nn::kScalars> GuideSamples::scalars_of(const GuideSample& sample, bool delta) {
  std::array<std::int16_t, nn::kScalars> scalars = sample.scalars;
  using nnue::Scalar;
  for (const Scalar s :
       {Scalar::steps, Scalar::regret, Scalar::nodes_gained, Scalar::nodes_made, Scalar::right_side_known})
    if (!delta) scalars[static_cast<std::size_t>(s)] = 0;
  return scalars;
}

void GuideSamples::append(const GuideSamples& other) {
  const auto features_before = static_cast<std::uint32_t>(features.size());
  const auto changes_before = static_cast<std::uint32_t>(changes.size());
  const auto states_before = static_cast<std::uint32_t>(states.size());
  features.insert(features.end(), other.features.begin(), other.features.end());
  changes.insert(changes.end(), other.changes.begin(), other.changes.end());
  for (State s : other.states) {
    s.first += features_before, s.end += features_before;
    states.push_back(s);
  }
  for (GuideSample s : other.samples) {
    s.state += states_before;
    s.first_lost += changes_before, s.first_gained += changes_before, s.end += changes_before;
    s.graph += graphs;
    samples.push_back(s);
  }
  graphs += other.graphs;
}

const nn::AccumulatorWeights& counting_weights(const nnue::KindTable& kinds, unsigned depth, std::uint32_t rules) {
  static std::mutex mutex;
  static std::map<std::tuple<std::uint64_t, unsigned, std::uint32_t>, nn::AccumulatorWeights> made;
  const std::lock_guard lock(mutex);
  const auto key = std::tuple(kinds.hash, depth, rules);
  if (const auto found = made.find(key); found != made.end()) return found->second;
  nn::PlainWeights plain;
  plain.space = nnue::feature_space(kinds.hash, depth);
  for (auto& head : plain.heads) head.bias.resize(rules);
  auto weights = nn::AccumulatorWeights::make(plain);
  CHECK(weights.ok());
  return made.emplace(key, std::move(weights).value()).first->second;
}

// --- Onlooker ---

Onlooker::Onlooker(const nn::AccumulatorWeights& weights, const nnue::KindTable& kinds, unsigned depth)
    : follower_(weights, kinds, depth) {}

void Onlooker::begin(const egraph::GuidedGraph& graph) {
  rules_ = graph.rules;
  noted_ = {};
  state_moves_ = ~std::uint64_t{0};
  if (!follower_.begin(graph)) return;
  context_.begin(graph, follower_);
  roots_.clear();
  for (const std::uint32_t root : graph.from.roots) roots_.push_back(graph.graph.find(graph.classes[root]));
  cost_ = follower_.cost();
}

std::optional<GuideSample> Onlooker::look(const Candidate& match) {
  if (!follower_.afterstates().build(rules_[match.rule], match.root, match.variables, afterstate_)) return std::nullopt;
  nnue::Incumbent& incumbent = follower_.incumbent();
  if (afterstate_.to != egraph::kNone)
    incumbent.delta_of(afterstate_.from, afterstate_.to, delta_);
  else
    incumbent.delta_of(afterstate_.from, afterstate_.overlay, delta_);
  if (!delta_.fits) return std::nullopt;
  GuideSamples& g = noted_;
  if (state_moves_ != incumbent.moves()) {
    state_moves_ = incumbent.moves();
    nnue::FeatureList state = nnue::features_of(incumbent, roots_);
    const auto first = static_cast<std::uint32_t>(g.features.size());
    g.features.insert(g.features.end(), state.list.begin(), state.list.end());
    g.states.push_back({first, static_cast<std::uint32_t>(g.features.size()), state.nodes});
    state_features_ = std::move(state.list);
  }
  const nnue::FeatureList after = nnue::features_of(incumbent, roots_, &afterstate_);
  GuideSample s;
  s.state = static_cast<std::uint32_t>(g.states.size() - 1);
  s.first_lost = static_cast<std::uint32_t>(g.changes.size());
  std::set_difference(state_features_.begin(), state_features_.end(), after.list.begin(), after.list.end(),
                      std::back_inserter(g.changes));
  s.first_gained = static_cast<std::uint32_t>(g.changes.size());
  std::set_difference(after.list.begin(), after.list.end(), state_features_.begin(), state_features_.end(),
                      std::back_inserter(g.changes));
  s.end = static_cast<std::uint32_t>(g.changes.size());
  s.nodes = after.nodes;
  s.rule = match.rule;
  nnue::Scalars scalars;
  context_.fill(match, scalars);
  nnue::describe(afterstate_, delta_, incumbent, follower_.hosts().regret(incumbent.find(match.root)), scalars);
  s.scalars = scalars.value;
  return s;
}

void Onlooker::follow() {
  follower_.follow();
  context_.brought(cost_ - follower_.cost());
  cost_ = follower_.cost();
}

// --- Witness ---

Witness::Witness(egraph::Guide& guide, const nn::AccumulatorWeights& weights, const nnue::KindTable& kinds,
                 const Options& options, GuideSamples& out)
    : guide_(guide), options_(options), out_(out), onlooker_(weights, kinds, options.depth) {}

void Witness::begin(const egraph::GuidedGraph& graph) {
  graph_.emplace(graph);
  pending_.clear();
  onlooker_.begin(graph);
  guide_.begin(graph);
}

// Records the edge that the last match made, if it merged anything.
void Witness::settle() {
  if (pending_.empty()) return;
  Pending& last = pending_.back();
  if (!last.open) return;
  last.merged = graph_->graph.proof_log()->edges() > last.first_edge;
  last.open = false;
}

std::optional<Candidate> Witness::take() {
  settle();
  const std::optional<Candidate> taken = guide_.take();
  if (!taken || !onlooker_.holds()) return taken;
  onlooker_.took(taken->rule);
  if (std::optional<GuideSample> sample = onlooker_.look(*taken)) {
    sample->episode = options_.episode;
    pending_.push_back({*sample, graph_->graph.proof_log()->edges()});
  }
  return taken;
}

void Witness::follow() {
  settle();
  guide_.follow();
  if (onlooker_.holds()) onlooker_.follow();
}

float Witness::gain_of(const egraph::Term& found) const {
  if (!options_.log_cost) return 0;
  const std::optional<double> before = options_.log_cost(graph_->from), after = options_.log_cost(found);
  return before && after ? static_cast<float>(*before - *after) : 0;
}

void Witness::end(const egraph::Term& found) {
  settle();
  guide_.end(found);
  if (found.roots.empty() || pending_.empty()) return;
  const auto needed = egraph::needed_merges(graph_->graph, graph_->rules, graph_->from, graph_->classes, found);
  if (!needed) return;
  std::mt19937 random(options_.episode * 31 + out_.graphs);
  std::size_t positive = 0;
  for (Pending& p : pending_) {
    p.sample.needed = p.merged && p.first_edge < needed->size() && (*needed)[p.first_edge];
    positive += p.sample.needed ? 1 : 0;
  }
  if (positive == 0) return;  // no term was better than the first: that teaches little
  const std::size_t others = pending_.size() - positive;
  const std::size_t room = options_.per_graph_max - std::min<std::size_t>(positive, options_.per_graph_max);
  GuideSamples& g = onlooker_.noted();
  const float gain = gain_of(found);
  for (const Pending& p : pending_) {
    if (!p.sample.needed && random() % std::max<std::size_t>(others, 1) >= room) continue;
    g.samples.push_back(p.sample);
    g.samples.back().gain = gain;
  }
  g.graphs = 1;
  out_.append(g);
}

}  // namespace trident::learn
