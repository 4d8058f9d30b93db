// Oracles: graphs in which the right side was really made for afterstates; the formula in 64-bit integers on
// features written out path by path for scores; all scores anew for the queue.
#include "jit/nnue/candidates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <tuple>

#include "jit/egraph/toy_terms.h"
#include "jit/nnue/random_terms.h"

namespace trident::nnue {
namespace {

using egraph::EGraph;
using egraph::ENode;
using egraph::kNone;
using egraph::NodeIndex;
using naive::Random;
namespace toy = egraph::toy;

std::uint8_t kind_of(const ENode& node) {
  if (node.op != toy::kNumber) return node.op;
  return node.child[0] < 3 ? static_cast<std::uint8_t>(7 + node.child[0]) : std::uint8_t{0};
}
constexpr KindTable kToyKinds{&kind_of, naive::kHash};

const std::vector<egraph::Rule>& rules() {
  static const std::vector<egraph::Rule> parsed = toy::rules();
  return parsed;
}
const nn::PlainWeights& plain() {
  static const nn::PlainWeights made = naive::random_weights(9, kDefaultDepth, 12);
  return made;
}
const nn::AccumulatorWeights& weights() {
  static const nn::AccumulatorWeights made = nn::AccumulatorWeights::make(plain()).value();
  return made;
}

/// A graph in which rules have been applied, its extraction, and the incumbent of that. The same seed makes the same
/// state.
struct State {
  explicit State(std::uint32_t seed, int size = 14) : graph(toy::kOps, semantics, {}) {
    std::mt19937 random(seed);
    ClassId root = toy::random_graph(graph, random, size);
    for (int i = 0; i < 4; ++i)
      root = graph.add(toy::node(i % 2 ? toy::kMul : toy::kAdd, root, toy::random_graph(graph, random, size)));
    for (const Candidate& match : matches()) {
      if (random() % 2 == 0 || graph.size() > 200) continue;
      const NodeIndex made =
          egraph::instantiate(graph, rules()[match.rule].right, match.variables, graph.sort(graph.find(match.root)));
      if (made != kNone) graph.merge(match.root, made);
    }
    graph.rebuild();
    root = graph.find(root);
    egraph::Extractor extractor(graph, toy::kCosts);
    // Finds every class's node of least tree cost: the root of the tree that is extracted for it alone.
    chosen.assign(graph.size(), kNone);
    for (ClassId id = 0; id < graph.size(); ++id) {
      if (graph.find(id) != id) continue;
      const egraph::Term term = extractor.tree({{id}});
      if (!term.origin.empty()) chosen[id] = term.origin[term.roots[0]];
    }
    hosts = std::make_unique<Hosts>(graph, chosen, toy::kCosts, std::vector{root});
    incumbent = std::make_unique<Incumbent>(weights());
    afterstates = std::make_unique<Afterstates>(graph, semantics, kToyKinds, *incumbent, chosen, hosts.get());
    afterstates->begin(extractor.tree({{root}}));
    roots = {root};
  }

  std::vector<Candidate> matches() {
    egraph::Matcher matcher(rules(), toy::kOps);
    egraph::Members members(graph);
    egraph::Matches found;
    egraph::Watch endless;
    std::uint64_t steps = 1'000'000;
    for (ClassId id = 0; id < graph.size(); ++id)
      if (graph.find(id) == id) matcher.match(members, id, 0, found, steps, endless);
    std::vector<Candidate> candidates;
    for (const egraph::Match& m : found.list) {
      Candidate c{m.rule, m.root, m.node, {}};
      std::copy_n(found.classes.begin() + m.variables, rules()[m.rule].variables.size(), c.variables.begin());
      candidates.push_back(c);
    }
    return candidates;
  }

  /// Returns T for the naive side: names are classes.
  [[nodiscard]] naive::Term term() const {
    naive::Term t;
    for (ClassId id = 0; id < graph.size(); ++id) t.add(incumbent->knows(id) ? incumbent->choice(id) : Choice{});
    t.roots = roots;
    return t;
  }

  egraph::Semantics semantics = toy::semantics();
  EGraph graph;
  std::vector<NodeIndex> chosen;
  std::vector<ClassId> roots;
  std::unique_ptr<Hosts> hosts;
  std::unique_ptr<Incumbent> incumbent;
  std::unique_ptr<Afterstates> afterstates;
};

/// Makes the right side in `copy`, a graph like the state's, and puts it in the match's place: the term that an
/// afterstate describes. False if the match has none.
bool really_applied(const State& state, State& copy, const Candidate& match, naive::Term& after) {
  after = state.term();
  const std::uint32_t before = copy.graph.size();
  NodeIndex top =
      egraph::instantiate(copy.graph, rules()[match.rule].right, match.variables, copy.graph.sort(match.root));
  if (top == kNone) return false;
  for (NodeIndex n = before; n < copy.graph.size(); ++n)
    after.nodes[after.add(copy.afterstates->choice_of(n))].exempt = true;
  ClassId at = match.root;
  std::uint32_t instead = copy.graph.find(top);
  if (instead == at) instead = after.add(copy.afterstates->choice_of(top)), after.nodes[instead].exempt = true;
  for (unsigned steps = 0; !state.incumbent->holds(at); ++steps) {
    if (steps == Afterstates::kStepsMax || state.hosts->user(at) == kNone) return false;
    Choice user = state.afterstates->choice_of(state.hosts->user(at));
    for (std::uint8_t c = 0; c < user.arity; ++c)
      if (user.child[c] == at) user.child[c] = instead;
    at = state.graph.find(state.hosts->user(at));
    instead = after.add(user);
    after.nodes[instead].exempt = true;
  }
  if (instead != at) after.nodes[at].means = instead;
  return true;
}

TEST(Afterstates, AreWhatMakingTheRightSideGives) {
  std::size_t same = 0, outside = 0, known = 0;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    State state(seed), copy(seed);
    ASSERT_EQ(state.graph.size(), copy.graph.size());
    for (const Candidate& match : state.matches()) {
      Afterstate afterstate;
      if (!state.afterstates->build(rules()[match.rule], match.root, match.variables, afterstate)) continue;
      Delta delta;
      if (afterstate.to != kNone)
        state.incumbent->delta_of(afterstate.from, afterstate.to, delta);
      else
        state.incumbent->delta_of(afterstate.from, afterstate.overlay, delta);
      if (!delta.fits) continue;
      naive::Term after;
      ASSERT_TRUE(really_applied(state, copy, match, after));
      const auto before = naive::sum_of(plain(), state.term(), kDefaultDepth),
                 now = naive::sum_of(plain(), after, kDefaultDepth);
      for (std::size_t l = 0; l < nn::kLanes; ++l)
        ASSERT_EQ(now[l] - before[l], delta.vector.lane[l]) << "seed " << seed << ", rule " << rules()[match.rule].name;
      ++same;
      outside += afterstate.steps > 0;
      known += afterstate.to != kNone;
      // Restores the graph without the right side.
      if (copy.graph.size() != state.graph.size()) {
        copy.~State();
        new (&copy) State(seed);
      }
    }
  }
  EXPECT_GT(same, 1'000u);
  EXPECT_GT(outside, 50u);
  EXPECT_GT(known, 100u);
}

TEST(Hosts, LoseLeastByRelaxingUntilNothingChanges) {
  std::size_t reached = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const State state(seed);
    const EGraph& g = state.graph;
    const auto children = [&](NodeIndex n) {
      std::vector<ClassId> found;
      for (std::uint8_t c = 0; c < g.row(g.node(n).op).children; ++c) found.push_back(g.find(g.node(n).child[c]));
      return found;
    };
    const auto members = [&](ClassId id) {
      std::vector<NodeIndex> found;
      g.each_node(id, [&](NodeIndex n) { found.push_back(n); });
      return found;
    };
    constexpr double kInf = std::numeric_limits<double>::infinity();
    std::vector<double> best(g.size(), kInf), regret(g.size(), kInf);
    const auto cost = [&](NodeIndex n) {
      double sum = toy::toy_cost(nullptr, g.node(n), 0);
      for (const ClassId c : children(n)) sum += best[c];
      return sum;
    };
    for (std::uint32_t round = 0; round < g.size(); ++round)
      for (ClassId id = 0; id < g.size(); ++id)
        for (const NodeIndex n : g.find(id) == id ? members(id) : std::vector<NodeIndex>{})
          best[id] = std::min(best[id], cost(n));
    regret[state.roots[0]] = 0;
    for (std::uint32_t round = 0; round < g.size(); ++round)
      for (ClassId id = 0; id < g.size(); ++id)
        for (const NodeIndex n : g.find(id) == id ? members(id) : std::vector<NodeIndex>{})
          for (const ClassId c : children(n)) regret[c] = std::min(regret[c], regret[id] + (cost(n) - best[id]));
    for (ClassId id = 0; id < g.size(); ++id) {
      if (g.find(id) != id || best[id] == kInf) continue;
      if (regret[id] == kInf)
        EXPECT_EQ(kInf, state.hosts->regret(id));
      else
        EXPECT_NEAR(regret[id], state.hosts->regret(id), 1e-9) << "seed " << seed << " class " << id;
      reached += regret[id] > 0 && regret[id] < kInf;
    }
  }
  EXPECT_GT(reached, 200u);
}

/// Computes the formula of candidates.h.
std::int32_t score_of(const naive::Term& after, std::size_t rule, const Scalars& scalars) {
  const auto sum = naive::sum_of(plain(), after, kDefaultDepth);
  const auto references = after.references();
  const auto nodes =
      static_cast<std::int64_t>(references.size()) - std::count(references.begin(), references.end(), 0u);
  const auto& head = plain().heads[static_cast<std::size_t>(nn::HeadKind::guide)];
  std::int64_t score = head.b2;
  for (std::size_t j = 0; j < nn::kHidden; ++j) {
    std::int64_t z = head.bias[rule][j];
    for (std::size_t l = 0; l < nn::kLanes; ++l) {
      const std::int64_t a = std::max<std::int64_t>(0, std::int64_t{plain().bias[l]} + sum[l]);
      z += std::min<std::int64_t>(127, a * (plain().pool_factor / nodes) / 65'536) * head.w1[j * nn::kLanes + l];
    }
    for (std::size_t k = 0; k < nn::kScalars; ++k) z += scalars.value[k] * head.ws[j * nn::kScalars + k];
    score += head.w2[j] * std::clamp<std::int64_t>(z >> head.shift, 0, head.most);
  }
  return static_cast<std::int32_t>(score);
}

Scalars scalars_of(State& state, const Candidate& match, const Scalars& context) {
  Scalars s = context;
  Afterstate a;
  Delta delta;
  EXPECT_TRUE(state.afterstates->build(rules()[match.rule], match.root, match.variables, a));
  a.to != kNone ? state.incumbent->delta_of(a.from, a.to, delta) : state.incumbent->delta_of(a.from, a.overlay, delta);
  s.set(Scalar::references, state.incumbent->references(a.from));
  s.set(Scalar::in_term, state.incumbent->holds(match.root));
  s.set(Scalar::steps, a.steps);
  const double regret = state.incumbent->holds(match.root) ? 0 : state.hosts->regret(match.root);
  s.set(Scalar::regret, std::lround(2 * std::log2(1 + std::min(4 * regret, 65'535.0))));
  s.set(Scalar::nodes_gained, delta.nodes_gained);
  s.set(Scalar::nodes_made, a.made);
  s.set(Scalar::right_side_known, a.made == 0);
  return s;
}

TEST(Candidates, ScoresAreTheFormulas) {
  std::size_t compared = 0;
  for (std::uint32_t seed = 200; seed < 230; ++seed) {
    State state(seed), copy(seed);
    Candidates waiting(rules(), *state.afterstates, *state.incumbent, state.hosts.get());
    Scalars context;
    context.set(Scalar::budget_left, 77);
    for (const Candidate& match : state.matches()) {
      const std::uint64_t scored = waiting.scored();
      waiting.add({&match, 1}, context, -5);
      const bool has_afterstate = waiting.scored() > scored;
      ASSERT_TRUE(waiting.take_best());
      if (!has_afterstate) {
        EXPECT_EQ(-5, waiting.last_score());
        continue;
      }
      naive::Term after;
      ASSERT_TRUE(really_applied(state, copy, match, after));
      ASSERT_EQ(score_of(after, match.rule, scalars_of(state, match, context)), waiting.last_score());
      ++compared;
      if (copy.graph.size() != state.graph.size()) {
        copy.~State();
        new (&copy) State(seed);
      }
    }
  }
  EXPECT_GT(compared, 300u);
}

TEST(Candidates, OfOneStateScoreDifferently) {
  std::uint64_t pairs = 0, equal = 0;
  for (std::uint32_t seed = 300; seed < 330; ++seed) {
    State state(seed, 24), copy(seed, 24);
    Candidates waiting(rules(), *state.afterstates, *state.incumbent, state.hosts.get());
    // A rule with one right side at one place is one candidate, however it matched.
    std::set<std::tuple<egraph::RuleIndex, ClassId, NodeIndex>> seen;
    std::vector<std::int32_t> scores;
    for (const Candidate& match : state.matches()) {
      const NodeIndex right =
          egraph::instantiate(copy.graph, rules()[match.rule].right, match.variables, copy.graph.sort(match.root));
      if (!seen.emplace(match.rule, match.root, right).second) continue;
      const std::uint64_t scored = waiting.scored();
      waiting.add({&match, 1}, {}, 0);
      ASSERT_TRUE(waiting.take_best());
      if (waiting.scored() > scored) scores.push_back(waiting.last_score());
    }
    for (std::size_t i = 0; i < scores.size(); ++i)
      for (std::size_t j = 0; j < i; ++j, ++pairs) equal += scores[i] == scores[j];
  }
  std::printf("%llu pairs of candidates, %.3f %% with equal scores\n", static_cast<unsigned long long>(pairs),
              100.0 * static_cast<double>(equal) / static_cast<double>(pairs));
  EXPECT_GT(pairs, 10'000u);
  EXPECT_LE(equal, pairs / 100);
}

TEST(Candidates, TheBestIsTheBestWhenAllWereScoredAnew) {
  std::size_t accepted = 0;
  for (std::uint32_t seed = 400; seed < 440; ++seed) {
    State state(seed, 20), fresh_state(seed, 20);
    Candidates waiting(rules(), *state.afterstates, *state.incumbent, state.hosts.get());
    waiting.add(state.matches(), {}, -1'000'000);
    std::vector<ClassId> in_use;
    for (int step = 0; step < 10 && waiting.size() > 0; ++step) {
      waiting.rescore_best(waiting.size());
      const std::size_t before = waiting.size();
      const auto best = waiting.take_best();
      ASSERT_TRUE(best);
      ASSERT_EQ(before - 1, waiting.size());
      // A fresh queue gives the same score, and no other candidate beats it.
      Candidates anew(rules(), *state.afterstates, *state.incumbent, state.hosts.get());
      anew.add({&*best, 1}, {}, -1'000'000);
      const std::int32_t score = waiting.last_score();
      ASSERT_TRUE(anew.take_best());
      ASSERT_EQ(score, anew.last_score());
      const auto next = waiting.take_best();
      if (next) {
        ASSERT_LE(waiting.last_score(), score);
        waiting.add({&*next, 1}, {}, -1'000'000);
      }
      // Chooses another member of some class in T.
      in_use.clear();
      for (ClassId id = 0; id < state.graph.size(); ++id)
        if (state.graph.find(id) == id && state.incumbent->holds(id)) in_use.push_back(id);
      const ClassId id = in_use[static_cast<std::size_t>(step) * 7 % in_use.size()];
      naive::Term term = state.term();
      state.graph.each_node(id, [&](NodeIndex n) {
        const Choice choice = state.afterstates->choice_of(n);
        for (std::uint8_t c = 0; c < choice.arity; ++c)
          if (!state.incumbent->knows(choice.child[c]) || term.reaches(choice.child[c], id)) return;
        if (choice == state.incumbent->choice(id)) return;
        state.incumbent->choose(id, choice);
        ++accepted;
      });
    }
  }
  EXPECT_GT(accepted, 100u);
}

TEST(Candidates, AnyIsTakenWithoutTheOthersBeingLost) {
  State state(500, 20);
  Candidates waiting(rules(), *state.afterstates, *state.incumbent, state.hosts.get());
  const auto matches = state.matches();
  waiting.add(matches, {}, 0);
  Candidates reference(rules(), *state.afterstates, *state.incumbent, state.hosts.get());
  reference.add(matches, {}, 0);
  ASSERT_TRUE(reference.take_best());
  std::size_t taken = 0, draw = 3;
  while (waiting.size() > 1) {
    ASSERT_TRUE(waiting.take_any(draw += 7));
    ++taken;
  }
  EXPECT_EQ(matches.size() - 1, taken);
  EXPECT_TRUE(waiting.take_best());
  EXPECT_FALSE(waiting.take_best());
  EXPECT_FALSE(waiting.take_any(0));
}

}  // namespace
}  // namespace trident::nnue
