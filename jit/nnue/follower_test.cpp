// Oracles: the extractor of jit/egraph, which looks at the whole graph each time; features written out path by path
// (random_terms.h), for a term put together anew from the choices.
#include "jit/nnue/follower.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

#include "jit/egraph/search.h"
#include "jit/egraph/toy_language.h"
#include "jit/egraph/toy_terms.h"
#include "jit/nnue/feature_list.h"
#include "jit/nnue/network_guide.h"
#include "jit/nnue/random_terms.h"

namespace trident::nnue {
namespace {

namespace toy = egraph::toy;

/// Kinds of random_terms.h by arity: leaves have arity 0, and so on.
constexpr KindTable kKindsByArity{[](const egraph::ENode& n) -> std::uint8_t {
                                    constexpr std::uint8_t kKind[] = {0, 1, 6, 7, 8, 3, 10};
                                    return kKind[n.op];
                                  },
                                  naive::kHash};

/// Returns a cost above 0 for every node, so that extractor and follower must agree on it.
double cost_of_node(const void*, const egraph::ENode& n, std::uint8_t) {
  constexpr double kCosts[] = {0.25, 0.25, 4, 4, 5, 1, 6};
  return kCosts[n.op];
}
constexpr egraph::CostModel kCosts{nullptr, &cost_of_node};

const nn::AccumulatorWeights& wide_weights() {
  static const nn::AccumulatorWeights made = [] {
    auto w = nn::AccumulatorWeights::make(naive::random_weights(3, kDefaultDepth, 64));
    CHECK(w.ok());
    return std::move(w).value();
  }();
  return made;
}

naive::Features features_of_choices(const Incumbent& incumbent, std::span<const ClassId> roots) {
  naive::Term term;
  std::map<ClassId, std::uint32_t> places;
  std::vector<ClassId> open;
  const auto place_of = [&](ClassId id) {
    id = incumbent.find(id);
    const auto [at, fresh] = places.emplace(id, static_cast<std::uint32_t>(term.nodes.size()));
    const std::uint32_t place = at->second;
    if (fresh) term.add(incumbent.choice(id)), open.push_back(id);
    return place;
  };
  for (const ClassId root : roots) term.roots.push_back(place_of(root));
  while (!open.empty()) {
    const std::uint32_t user = places.at(open.back());
    open.pop_back();
    for (std::uint8_t s = 0; s < term.nodes[user].choice.arity; ++s) {
      const std::uint32_t child = place_of(term.nodes[user].choice.child[s]);
      term.nodes[user].choice.child[s] = child;
    }
  }
  return naive::features_of(term, incumbent.depth());
}

naive::Features counted(const FeatureList& list) {
  naive::Features all;
  for (const std::uint32_t f : list.list) ++all[f];
  return all;
}

/// Takes matches in random order, and compares the follower with the oracles after every round.
class Comparing final : public egraph::Guide {
 public:
  explicit Comparing(std::uint32_t seed) : random_(seed) {}

  void begin(const egraph::GuidedGraph& graph) override {
    graph_.emplace(graph);
    waiting_.clear();
    roots_.clear();
    for (const std::uint32_t root : graph.from.roots) roots_.push_back(graph.graph.find(graph.classes[root]));
    ASSERT_TRUE(follower.begin(graph));
    compare();
  }
  void add(std::span<const egraph::Candidate> matches) override {
    waiting_.insert(waiting_.end(), matches.begin(), matches.end());
  }
  std::optional<egraph::Candidate> take() override {
    if (waiting_.empty()) return std::nullopt;
    std::swap(waiting_[random_() % waiting_.size()], waiting_.back());
    const egraph::Candidate taken = waiting_.back();
    waiting_.pop_back();
    look_ahead(taken);
    return taken;
  }
  void follow() override {
    follower.follow();
    compare();
  }

  std::size_t compared = 0, aheads = 0, unions = 0;
  Follower follower{wide_weights(), kKindsByArity};

 private:
  void compare() {
    const egraph::EGraph& graph = graph_->graph;
    std::vector<ClassId> roots = roots_;
    for (ClassId& root : roots) root = graph.find(root);
    const egraph::Term best = egraph::Extractor(graph, kCosts).tree(roots);
    ASSERT_FALSE(best.roots.empty());
    EXPECT_NEAR(follower.cost(), egraph::tree_cost(best, toy::kOps, kCosts), 1e-6 * (1 + follower.cost()));
    Incumbent& incumbent = follower.incumbent();
    const naive::Features expected = features_of_choices(incumbent, roots_);
    EXPECT_EQ(counted(features_of(incumbent, roots_)), expected);
    const nn::Accumulator rebuilt = incumbent.rebuilt();
    EXPECT_TRUE(std::equal(std::begin(rebuilt.lane), std::end(rebuilt.lane), incumbent.accumulator().lane));
    unions = graph.unions().size();
    ++compared;
  }
  /// Compares an afterstate's features, listed and summed up.
  void look_ahead(const egraph::Candidate& c) {
    Afterstate after;
    if (!follower.afterstates().build(graph_->rules[c.rule], c.root, c.variables, after)) return;
    Delta delta;
    if (after.to != egraph::kNone)
      follower.incumbent().delta_of(after.from, after.to, delta);
    else
      follower.incumbent().delta_of(after.from, after.overlay, delta);
    if (!delta.fits) return;
    static const nn::PlainWeights plain = naive::random_weights(3, kDefaultDepth, 64);
    std::vector<std::int64_t> sum(nn::kLanes);
    for (const std::uint32_t f : features_of(follower.incumbent(), roots_, &after).list)
      for (std::size_t l = 0; l < nn::kLanes; ++l) sum[l] += naive::row_of(plain, f)[l];
    for (const std::uint32_t f : features_of(follower.incumbent(), roots_).list)
      for (std::size_t l = 0; l < nn::kLanes; ++l) sum[l] -= naive::row_of(plain, f)[l];
    for (std::size_t l = 0; l < nn::kLanes; ++l) ASSERT_EQ(sum[l], delta.vector.lane[l]) << l;
    ++aheads;
  }

  std::mt19937 random_;
  std::optional<egraph::GuidedGraph> graph_;
  std::vector<egraph::Candidate> waiting_;
  std::vector<ClassId> roots_;
};

TEST(Follower, SaysWhatTheWholeGraphSays) {
  const std::vector<egraph::Rule> rules = toy::rules();
  const egraph::Matcher matcher(rules, toy::kOps);
  std::size_t compared = 0, aheads = 0, unions = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    Comparing guide(seed);
    const egraph::SearchSpace space{toy::kOps, toy::semantics(), &matcher, kCosts, {}};
    const auto found = egraph::search(space, toy::random_term(seed),
                                      {.strategy = egraph::Strategy::guided,
                                       .budget = {.nodes = 400, .nanoseconds = 0, .applications = 300},
                                       .guide = &guide});
    ASSERT_FALSE(found.terms.empty());
    if (HasFailure()) return;
    compared += guide.compared, aheads += guide.aheads, unions += guide.unions;
  }
  std::printf("%zu graphs compared, %zu afterstates, %zu unions in the last ones\n", compared, aheads, unions);
  EXPECT_GT(compared, 200u);
  EXPECT_GT(aheads, 500u);
  EXPECT_GT(unions, 200u);
}

// Equal weights, seed and budget give an equal search, also by a guide that has seen other graphs before.
TEST(NetworkGuide, RepeatsItself) {
  const std::vector<egraph::Rule> rules = toy::rules();
  const egraph::Matcher matcher(rules, toy::kOps);
  const egraph::SearchSpace space{toy::kOps, toy::semantics(), &matcher, kCosts, {}};
  NetworkGuide used(wide_weights(), kKindsByArity);
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const auto run = [&](NetworkGuide& guide) {
      egraph::RecordingGuide recording(guide);
      egraph::SearchOptions options{.strategy = egraph::Strategy::guided,
                                    .budget = {.nodes = 500, .nanoseconds = 0, .applications = 400},
                                    .guide = &recording};
      const auto found = egraph::search(space, toy::random_term(seed), options);
      // A recording of the search repeats it too, without the guide.
      egraph::RecordedGuide recorded(recording.taken());
      options.guide = &recorded;
      const auto again = egraph::search(space, toy::random_term(seed), options);
      EXPECT_EQ(found.stats.applications, again.stats.applications);
      EXPECT_EQ(egraph::tree_cost(found.terms[0], toy::kOps, kCosts),
                egraph::tree_cost(again.terms[0], toy::kOps, kCosts));
      return std::pair(recording.taken(), egraph::dag_cost(found.terms[0], toy::kOps, kCosts));
    };
    NetworkGuide fresh(wide_weights(), kKindsByArity);
    EXPECT_EQ(run(fresh), run(used));
  }
}

// Values stay with any guide; no term is dearer than the first.
TEST(Guides, ChangeTimeAndNeverResults) {
  const std::vector<egraph::Rule> rules = toy::rules();
  const egraph::Matcher matcher(rules, toy::kOps);
  const egraph::SearchSpace space{toy::kOps, toy::semantics(), &matcher, toy::kCosts, {}};
  egraph::ConstantGuide constant;
  egraph::RandomGuide random;
  egraph::StaticGuide best(egraph::StaticGuide::Order::best_first), worst(egraph::StaticGuide::Order::worst_first);
  NetworkGuide network(wide_weights(), kKindsByArity);
  std::map<const egraph::Guide*, double> cost;
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    const egraph::Term from = toy::random_term(seed);
    for (egraph::Guide* guide : std::initializer_list<egraph::Guide*>{&constant, &random, &best, &worst, &network}) {
      const auto found = egraph::search(space, from,
                                        {.strategy = egraph::Strategy::guided,
                                         .budget = {.nodes = 300, .nanoseconds = 0, .applications = 200},
                                         .guide = guide,
                                         .seed = seed});
      ASSERT_NE(found.stats.stop, egraph::Stop::contradiction);
      EXPECT_LE(egraph::dag_cost(found.terms[0], toy::kOps, toy::kCosts),
                egraph::dag_cost(from, toy::kOps, toy::kCosts));
      for (const std::array<double, 3> leaves : {std::array{1.5, -2.25, 3.0}, std::array{0.0, 7.0, -1.0}})
        EXPECT_NEAR(toy::value(found.terms[0], leaves), toy::value(from, leaves), 1e-9);
      cost[guide] += egraph::dag_cost(found.terms[0], toy::kOps, toy::kCosts);
    }
  }
  EXPECT_LE(cost[&best], cost[&worst]);  // the order does matter
}

}  // namespace
}  // namespace trident::nnue
