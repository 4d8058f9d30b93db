// Explanations of searches in the toy language. Oracles: the numeric values of both sides of a step; and replay must
// refuse when a step is removed or changed.
#include "jit/egraph/explain.h"

#include <gtest/gtest.h>

#include "jit/egraph/matcher.h"
#include "jit/egraph/search.h"
#include "jit/egraph/toy_terms.h"

namespace trident::egraph {
namespace {

const std::array<double, 3> kLeaves{3, -5, 7};

double value_in_pool(const Explanation& e, std::uint32_t node) {
  return toy::value({.nodes = e.pool, .roots = {node}}, kLeaves);
}

bool same_terms(const Term& a, const Term& b) {
  return a.roots == b.roots &&
         std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                    [](const ENode& x, const ENode& y) { return x.op == y.op && x.child == y.child; });
}

bool nobody(std::span<const ENode>, std::uint32_t, std::uint32_t) {
  return false;
}

TEST(Explain, EveryStepIsTrueAndTheStepsReplay) {
  const std::vector<Rule> rules = toy::rules();
  const Matcher matcher(rules, toy::kOps);
  const SearchSpace space{toy::kOps, toy::semantics(), &matcher, toy::kCosts, {}};
  int explained = 0, several_graphs = 0, needed_every_step = 0;
  for (std::uint32_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(seed);
    const Term initial = toy::random_term(seed);
    SearchOptions options;
    options.seed = seed;
    options.budget = {.nodes = seed % 2 == 0 ? 300u : 22u, .nanoseconds = 0, .applications = 4000, .graph_nodes = 3000};
    const SearchResult plain = search(space, initial, options);
    options.explain = true;
    const SearchResult result = search(space, initial, options);
    ASSERT_TRUE(same_terms(plain.terms[0], result.terms[0])) << "explaining changes nothing";
    if (result.explanation.empty()) {
      EXPECT_TRUE(same_terms(result.terms[0], initial));
      continue;
    }
    ++explained;
    several_graphs += result.explanation.size() > 1 ? 1 : 0;
    EXPECT_TRUE(same_terms(result.explanation.front().from, initial));
    EXPECT_TRUE(same_terms(result.explanation.back().to, result.terms[0]));
    for (std::size_t i = 0; i < result.explanation.size(); ++i) {
      const Explanation& e = result.explanation[i];
      if (i > 0) {
        EXPECT_TRUE(same_terms(e.from, result.explanation[i - 1].to));
      }
      for (const Step& step : e.steps) {
        ASSERT_TRUE(step.rule);
        EXPECT_EQ(value_in_pool(e, step.left), value_in_pool(e, step.right)) << rules[*step.rule].name;
      }
      const auto fault = replay(toy::kOps, toy::semantics(), rules, e, nobody);
      EXPECT_FALSE(fault) << *fault;
      if (e.steps.empty()) continue;
      // Without a step the rest proves less, unless the step also follows from others.
      Explanation fewer = e;
      fewer.steps.pop_back();
      needed_every_step += replay(toy::kOps, toy::semantics(), rules, fewer, nobody) ? 1 : 0;
    }
  }
  EXPECT_GT(explained, 60);
  EXPECT_GT(several_graphs, 0);
  EXPECT_GT(needed_every_step, explained / 2);
}

TEST(Explain, ReplayRefusesWhatIsNoInstance) {
  const std::vector<Rule> rules = toy::rules();
  const Matcher matcher(rules, toy::kOps);
  const SearchSpace space{toy::kOps, toy::semantics(), &matcher, toy::kCosts, {}};
  int refused = 0, tried = 0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SearchOptions options;
    options.explain = true;
    options.budget = {.nodes = 300, .nanoseconds = 0, .applications = 4000, .graph_nodes = 3000};
    const SearchResult result = search(space, toy::random_term(seed), options);
    for (const Explanation& e : result.explanation) {
      if (e.steps.empty()) continue;
      // A rule with as many variables but another meaning; a tactic that `believe` refuses.
      for (std::uint16_t other = 0; other < rules.size(); ++other) {
        if (other == *e.steps[0].rule || rules[other].variables.size() != e.steps[0].variables.size()) continue;
        Explanation wrong = e;
        wrong.steps[0].rule = other;
        ++tried;
        refused += replay(toy::kOps, toy::semantics(), rules, wrong, nobody) ? 1 : 0;
      }
      Explanation claimed = e;
      claimed.steps[0].rule.reset();
      EXPECT_TRUE(replay(toy::kOps, toy::semantics(), rules, claimed, nobody));
    }
  }
  EXPECT_GT(tried, 30);
  EXPECT_GT(refused, tried * 9 / 10);
}

TEST(ProofLog, TheWayIsOldAndStays) {
  // Chains joined at their ends: the path between two nodes keeps to the chain, despite later joins.
  EGraph graph(toy::kOps, toy::plain(), {.explain = true});
  std::vector<NodeIndex> nodes;
  for (std::uint32_t i = 0; i < 8; ++i) nodes.push_back(graph.add(toy::leaf(i)));
  graph.merge(nodes[0], nodes[1]), graph.merge(nodes[2], nodes[3]), graph.merge(nodes[1], nodes[2]);
  graph.merge(nodes[5], nodes[4]);
  const ProofLog& log = *graph.proof_log();
  EXPECT_EQ(log.way(nodes[0], nodes[3])->size(), 3u);
  EXPECT_FALSE(log.way(nodes[0], nodes[4]));
  EXPECT_TRUE(log.equal_before(nodes[0], nodes[1], 1));
  EXPECT_FALSE(log.equal_before(nodes[0], nodes[3], 2)) << "they were joined by edge 2";
  graph.merge(nodes[4], nodes[0]);
  EXPECT_EQ(log.way(nodes[0], nodes[3])->size(), 3u);
  EXPECT_EQ(log.way(nodes[5], nodes[3])->size(), 5u);
}

}  // namespace
}  // namespace trident::egraph
