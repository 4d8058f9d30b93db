#include "jit/learn/walks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <random>
#include <unordered_map>

#include "jit/egraph/neighbours.h"
#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/language.h"
#include "jit/expr/rewrite/rewrite.h"

namespace trident::learn {
namespace {

using egraph::Candidate;
using egraph::Term;
using Random = std::mt19937_64;

// Seeds of walks are separate: no episode plays their first forms.
constexpr std::uint64_t kSeeds = std::uint64_t{1} << 62;
constexpr std::uint64_t kWalkMatchSteps = 40'000;
constexpr int kTries = 12;              // neighbours tried before a walk is given up
constexpr std::uint32_t kNodes = 1500;  // limit of a graph, as in episodes
// Budget of the search that makes a composed form good.
constexpr egraph::SearchBudget kGood{.nodes = 1'000, .nanoseconds = 0, .applications = 2'000, .graph_nodes = 3'000};

/// Records all that the first graph of a search offers, and takes nothing.
class Lookout final : public egraph::Guide {
 public:
  Lookout(const nn::AccumulatorWeights& weights, unsigned depth)
      : onlooker_(weights, expr::rewrite::node_kinds(), depth) {}
  void begin(const egraph::GuidedGraph& graph) override {
    if (over_) return;
    onlooker_.begin(graph);
    graph_.emplace(graph);
    for (std::uint32_t n = 0; n < graph.classes.size(); ++n) nodes_.emplace(graph.graph.find(graph.classes[n]), n);
  }
  void add(std::span<const Candidate> matches) override {
    if (over_ || !onlooker_.holds()) return;
    for (const Candidate& match : matches) {
      const auto sample = onlooker_.look(match);
      auto place = place_of(match);
      if (!sample || !place) continue;
      onlooker_.noted().samples.push_back(*sample);
      places_.push_back(std::move(*place));
    }
  }
  std::optional<Candidate> take() override { return std::nullopt; }
  void follow() override {}
  void end(const Term&) override { over_ = true; }
  [[nodiscard]] const std::atomic<bool>& over() const { return over_; }
  /// Returns one sample for each place.
  GuideSamples& noted() { return onlooker_.noted(); }
  [[nodiscard]] std::span<const egraph::Place> places() const { return places_; }

 private:
  [[nodiscard]] std::optional<egraph::Place> place_of(const Candidate& match) const {
    egraph::Place place{match.rule, 0, {}};
    const auto root = nodes_.find(graph_->graph.find(match.root));
    if (root == nodes_.end()) return std::nullopt;
    place.root = root->second;
    for (std::size_t v = 0; v < graph_->rules[match.rule].variables.size(); ++v) {
      const auto node = nodes_.find(graph_->graph.find(match.variables[v]));
      if (node == nodes_.end()) return std::nullopt;
      place.variables.push_back(node->second);
    }
    return place;
  }

  Onlooker onlooker_;
  std::optional<egraph::GuidedGraph> graph_;
  std::unordered_map<egraph::ClassId, std::uint32_t> nodes_;  ///< nodes of the term
  std::vector<egraph::Place> places_;
  std::atomic<bool> over_ = false;
};

/// Hashes a term: equal terms have equal hashes, whatever the order of nodes and of operands that commute.
std::uint64_t identity_of(const Term& term, std::span<const egraph::OpRow> ops) {
  const auto mix = [](std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E37'79B9'7F4A'7C15u;
    return hash ^ hash >> 29;
  };
  std::vector<std::uint64_t> of_node;
  for (const egraph::ENode& node : term.nodes) {
    const egraph::OpRow& row = ops[node.op];
    std::array<std::uint64_t, 3> operands{};
    for (std::size_t c = 0; c < operands.size(); ++c)
      operands[c] = c < row.children ? of_node[node.child[c]] : node.child[c];
    if (row.commutes && operands[0] > operands[1]) std::swap(operands[0], operands[1]);
    std::uint64_t hash = mix(mix(1, node.op), node.sort);
    for (const std::uint64_t operand : operands) hash = mix(hash, operand);
    of_node.push_back(hash);
  }
  std::uint64_t hash = 0;
  for (const std::uint32_t root : term.roots) hash = mix(hash, of_node[root]);
  return hash;
}

bool leads_back(const GuideSamples& state) {
  return std::any_of(state.samples.begin(), state.samples.end(), [](const GuideSample& s) { return s.needed; });
}

std::optional<Walk> walk_of(std::uint64_t seed, const WalkOptions& options, std::uint32_t number) {
  expr::rewrite::RewriteOptions how;
  how.policy.kind = expr::PolicyKind::fast;
  how.costs = number % 2 == 0 ? expr::rewrite::reference_costs() : expr::rewrite::default_costs();
  ScrambleOptions unscrambled = options.scrambles;
  unscrambled.steps_min = unscrambled.steps_max = 0;
  const auto composed = scrambled(seed, unscrambled);
  if (!composed) return std::nullopt;
  const expr::Expr good = good_form(composed->good, how.costs);
  const auto term = expr::rewrite::to_term(good);
  if (!term.ok() || term->nodes.size() > options.scrambles.nodes_max) return std::nullopt;
  const expr::rewrite::Rules rules(good, how);
  auto walk = walk_from(rules.space(), *term, options.steps, options.scrambles.nodes_max, options.depth, seed);
  if (!walk) return std::nullopt;
  for (GuideSamples& state : walk->samples) {
    if (options.leaves_out) std::erase_if(state.samples, options.leaves_out);
    if (!leads_back(state)) return std::nullopt;
    for (GuideSample& s : state.samples) s.episode = number;
  }
  return walk;
}

/// Calls `each` with the samples of one graph after the other.
template <class Each>
void each_graph(const GuideSamples& samples, const Each& each) {
  const std::span<const GuideSample> all(samples.samples);
  for (std::size_t i = 0, j = 0; i < all.size(); i = j) {
    while (j < all.size() && all[j].graph == all[i].graph) ++j;
    each(all.subspan(i, j - i));
  }
}

/// Samples of one state with the highest score, and how many of them lead back.
struct Top {
  double score = -std::numeric_limits<double>::infinity();
  std::size_t all = 0, back = 0;
};

Top top_of(std::span<const GuideSample> state, const Score& score) {
  Top top;
  for (const GuideSample& s : state) {
    const double said = score(s);
    if (said > top.score) top = {said, 0, 0};
    if (said == top.score) ++top.all, top.back += s.needed ? 1 : 0;
  }
  return top;
}

}  // namespace

expr::Expr good_form(const expr::Expr& source, const egraph::CostModel& costs) {
  expr::rewrite::RewriteOptions how;
  how.policy.kind = expr::PolicyKind::fast;
  how.budget = kGood;
  how.costs = costs;
  how.keep = 1;
  auto found = expr::rewrite::rewrite(source, how);
  return found.ok() && !found->forms.empty() ? std::move(found->forms.front()) : source;
}

GuideSamples ways_back(const egraph::SearchSpace& space, const Term& at, const Term& back, unsigned depth) {
  const auto rules = static_cast<std::uint32_t>(space.matcher->rules().size());
  Lookout lookout(counting_weights(expr::rewrite::node_kinds(), depth, rules), depth);
  // Drops tactics, which merge terms beyond this state.
  egraph::SearchSpace plain = space;
  plain.tactics.clear();
  egraph::SearchOptions how;
  how.strategy = egraph::Strategy::guided;
  how.guide = &lookout;
  how.budget.nodes = kNodes, how.budget.nanoseconds = 0, how.budget.cancelled = &lookout.over();
  static_cast<void>(egraph::search(plain, at, how));
  GuideSamples& found = lookout.noted();
  found.graphs = 1;
  const std::uint64_t wanted = identity_of(back, space.ops);
  const std::vector<Term> after = egraph::rewritten_at(space, at, lookout.places());
  for (std::size_t i = 0; i < after.size(); ++i)
    found.samples[i].needed = !after[i].roots.empty() && identity_of(after[i], space.ops) == wanted;
  return std::move(found);
}

std::optional<Walk> walk_from(const egraph::SearchSpace& space, const Term& good, std::uint32_t steps,
                              std::uint32_t nodes_max, unsigned depth, std::uint64_t seed) {
  Random random(seed * 0x9E37'79B9'7F4A'7C15u + 3);
  Walk walk;
  walk.states.push_back(good);
  std::vector<std::uint64_t> seen{identity_of(good, space.ops)};
  while (walk.samples.size() < steps) {
    const Term at = walk.states.back();
    std::vector<Term> next = egraph::neighbours(space, at, kWalkMatchSteps);
    std::erase_if(next, [&](const Term& t) { return t.nodes.size() > nodes_max; });
    const std::size_t before = walk.samples.size();
    for (int t = 0; t < kTries && !next.empty() && walk.samples.size() == before; ++t) {
      // Takes the larger of two, which is mostly worse.
      std::size_t a = random() % next.size();
      const std::size_t b = random() % next.size();
      if (next[b].nodes.size() > next[a].nodes.size()) a = b;
      const Term to = std::move(next[a]);
      next.erase(next.begin() + static_cast<std::ptrdiff_t>(a));
      const std::uint64_t identity = identity_of(to, space.ops);
      if (std::find(seen.begin(), seen.end(), identity) != seen.end()) continue;
      GuideSamples samples = ways_back(space, to, at, depth);
      if (!leads_back(samples)) continue;
      seen.push_back(identity);
      walk.states.push_back(to);
      walk.samples.push_back(std::move(samples));
    }
    if (walk.samples.size() == before) return std::nullopt;
  }
  return walk;
}

GuideSamples walked(const WalkOptions& options) {
  GuideSamples out;
  std::uint64_t seed = kSeeds + options.seed * 1'000'003;
  for (std::uint32_t number = 0; number < options.walks; ++number) {
    std::optional<Walk> walk;
    while (!walk) walk = walk_of(seed++, options, number);
    for (const GuideSamples& state : walk->samples) out.append(state);
    if (options.progress && !options.progress(number + 1)) break;
  }
  return out;
}

Ranking rank_ways_back(const GuideSamples& samples, const Score& score) {
  Ranking ranking;
  each_graph(samples, [&](std::span<const GuideSample> state) {
    const auto back = std::count_if(state.begin(), state.end(), [](const GuideSample& s) { return s.needed; });
    if (back == 0) return;
    const Top top = top_of(state, score);
    ++ranking.states;
    ranking.first += static_cast<double>(top.back) / static_cast<double>(top.all);
    ranking.chance += static_cast<double>(back) / static_cast<double>(state.size());
  });
  const auto states = static_cast<double>(std::max<std::size_t>(ranking.states, 1));
  ranking.first /= states, ranking.chance /= states;
  return ranking;
}

std::vector<bool> ends_solved(const GuideSamples& samples, const Score& score) {
  std::vector<bool> solved;
  each_graph(samples, [&](std::span<const GuideSample> state) {
    const auto next = static_cast<std::size_t>(&state.back() - samples.samples.data()) + 1;
    if (next < samples.samples.size() && samples.samples[next].episode == state.back().episode) return;
    const Top top = top_of(state, score);
    solved.push_back(top.back > 0 && top.back == top.all);
  });
  return solved;
}

}  // namespace trident::learn
