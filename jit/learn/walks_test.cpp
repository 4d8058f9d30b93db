// Oracles: exhaustive search with egraph::neighbours, rule by rule, and terms compared as they are written out; places
// counted by hand.
#include "jit/learn/walks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "jit/egraph/neighbours.h"
#include "jit/expr/rewrite/compiled_rules.h"
#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/language.h"
#include "jit/expr/rewrite/rewrite.h"
#include "jit/learn/few_rules.h"

namespace trident::learn {
namespace {

using egraph::Term;

constexpr unsigned kDepth = nnue::kDefaultDepth;
constexpr std::uint32_t kNodesMax = 60;
constexpr std::uint64_t kMatchSteps = 100'000;
// The last two lead away and not back: exp(2 a) is no sum, and a removed logarithm is gone.
constexpr const char* kHandful[] = {"exp-add",   "exp-mul-rev", "exp-sub",   "exp-div-rev", "exp-neg",
                                    "exp-recip", "exp-sq",      "max-assoc", "exp-double",  "log-exp"};

/// Rules as in a search over one expression.
struct Few {
  Few(const expr::Expr& source, const std::set<std::string>& names) : compiled(rules_named(names)) {
    how.policy.kind = expr::PolicyKind::fast;
    how.costs = expr::rewrite::reference_costs();
    how.rules = &compiled;
    rules = std::make_unique<expr::rewrite::Rules>(source, how);
  }
  [[nodiscard]] const egraph::SearchSpace& space() const { return rules->space(); }
  expr::rewrite::CompiledRules compiled;
  expr::rewrite::RewriteOptions how;
  std::unique_ptr<expr::rewrite::Rules> rules;
};

/// Writes a term with operands of commutative ops in alphabetical order: equal terms give equal texts, whatever the
/// order of their nodes.
std::string written(const Term& term, std::uint32_t at) {
  const egraph::ENode& node = term.nodes[at];
  const egraph::OpRow& row = expr::rewrite::op_rows()[node.op];
  std::vector<std::string> operands;
  for (std::uint8_t c = 0; c < row.children; ++c) operands.push_back(written(term, node.child[c]));
  if (row.commutes && operands[0] > operands[1]) std::swap(operands[0], operands[1]);
  std::string text = "(" + std::to_string(node.op);
  for (std::size_t c = row.children; c < node.child.size(); ++c) text += "." + std::to_string(node.child[c]);
  for (const std::string& operand : operands) text += " " + operand;
  return text + ")";
}

std::string written(const Term& term) {
  std::string text;
  for (const std::uint32_t root : term.roots) text += written(term, root);
  return text;
}

struct Start {
  expr::Expr source;
  Term term;
};

Start start(const char* text, const std::vector<expr::Variable>& variables = {}) {
  auto source = expr::parse_infix(text, {.variables = variables});
  CHECK(source.ok());
  auto term = expr::rewrite::to_term(*source);
  CHECK(term.ok());
  return {std::move(*source), std::move(*term)};
}

constexpr const char* kStarts[] = {"exp(x + y)*z + max(x, max(y, z))", "exp(x - y)/(1 + exp(z + x + y))",
                                   "exp(2*x) + exp(x)*exp(y)*z",       "max(exp(x), max(y, max(z, exp(y + z))))",
                                   "log(exp(x + y)) + exp(-x)*z",      "exp(x*y - z) * exp(x) / exp(y)"};
constexpr std::uint64_t kSeeds = 30;

TEST(Walks, LabelAsWaysBackWhatExhaustiveSearchFindsToLeadBack) {
  std::size_t states = 0, back = 0, elsewhere = 0, also_elsewhere = 0;
  for (const char* text : kStarts) {
    const Start from = start(text);
    const Few few(from.source, {std::begin(kHandful), std::end(kHandful)});
    std::vector<std::unique_ptr<Few>> alone;
    for (const egraph::Rule& rule : few.compiled.set().rules)
      alone.push_back(std::make_unique<Few>(from.source, std::set<std::string>{rule.name}));
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const auto walk = walk_from(few.space(), from.term, 3, kNodesMax, kDepth, seed);
      if (!walk) continue;
      ASSERT_EQ(walk->states.size(), 4u);
      ASSERT_EQ(walk->samples.size(), 3u);
      for (std::size_t i = 1; i < walk->states.size(); ++i) {
        ++states;
        const Term &at = walk->states[i], &before = walk->states[i - 1];
        const GuideSamples& samples = walk->samples[i - 1];
        for (std::size_t r = 0; r < alone.size(); ++r) {
          bool leads_back = false;
          std::set<std::string> others;
          for (const Term& next : egraph::neighbours(alone[r]->space(), at, kMatchSteps)) {
            if (written(next) == written(before))
              leads_back = true;
            else if (written(next) != written(at))
              others.insert(written(next));
          }
          std::size_t said_back = 0, said_others = 0;
          for (const GuideSample& s : samples.samples)
            if (s.rule == r) (s.needed ? said_back : said_others) += 1;
          EXPECT_EQ(said_back > 0, leads_back) << text << ": " << few.compiled.set().rules[r].name;
          EXPECT_EQ(said_others > 0, !others.empty()) << text << ": " << few.compiled.set().rules[r].name;
          EXPECT_GE(said_others, others.size()) << text << ": " << few.compiled.set().rules[r].name;
          back += leads_back ? 1 : 0, elsewhere += others.size();
          also_elsewhere += leads_back && !others.empty() ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(states, 60u);
  EXPECT_GE(back, states);
  EXPECT_GT(elsewhere, states);
  EXPECT_GT(also_elsewhere, 10u) << "one rule, at two places of a state";
}

TEST(Walks, GoByRewritesThatOthersUndoAndNeverTwiceToOnePlace) {
  std::size_t walks = 0;
  for (const char* text : kStarts) {
    const Start from = start(text);
    const Few few(from.source, {std::begin(kHandful), std::end(kHandful)});
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const auto walk = walk_from(few.space(), from.term, 3, kNodesMax, kDepth, seed);
      if (!walk) continue;
      ++walks;
      std::set<std::string> places;
      for (const Term& state : walk->states) places.insert(written(state));
      EXPECT_EQ(places.size(), walk->states.size()) << text;
      EXPECT_EQ(written(walk->states.front()), written(from.term));
      const auto leads = [&](const Term& a, const Term& b) {
        const auto all = egraph::neighbours(few.space(), a, kMatchSteps);
        return std::any_of(all.begin(), all.end(), [&](const Term& t) { return written(t) == written(b); });
      };
      for (std::size_t i = 1; i < walk->states.size(); ++i) {
        EXPECT_TRUE(leads(walk->states[i - 1], walk->states[i])) << text;
        EXPECT_TRUE(leads(walk->states[i], walk->states[i - 1])) << text;
        EXPECT_LE(walk->states[i].nodes.size(), kNodesMax);
      }
    }
  }
  EXPECT_GT(walks, 20u);
}

// Rewriting max(x, max(y, z)) or max(y, max(x, z)) gives max(max(x, y), z): a network cannot tell them apart, and
// the result leads back to either; operands that commute may be in any order.
TEST(Walks, TakeForWaysBackWhatLeadsToTheSameTermAlone) {
  const Start at = start("max(max(x, y), z)");
  const Few few(at.source, {"max-assoc"});
  std::set<std::string> all;
  for (const Term& next : egraph::neighbours(few.space(), at.term, kMatchSteps)) all.insert(written(next));
  EXPECT_EQ(all.size(), 2u);
  for (const char* text : {"max(x, max(y, z))", "max(y, max(x, z))", "max(max(z, x), y)", "max(max(x, z), y)"}) {
    const GuideSamples samples = ways_back(few.space(), at.term, start(text, at.source.variables).term, kDepth);
    const auto needed = [](const GuideSample& s) { return s.needed; };
    EXPECT_EQ(samples.samples.size(), 2u);
    EXPECT_EQ(std::count_if(samples.samples.begin(), samples.samples.end(), needed), 1) << text;
  }
}

TEST(Walks, StayAsSmallAsTheyMust) {
  std::size_t walks = 0, larger = 0;
  for (const char* text : kStarts) {
    const Start from = start(text);
    const Few few(from.source, {std::begin(kHandful), std::end(kHandful)});
    const auto most = static_cast<std::uint32_t>(from.term.nodes.size());
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      if (const auto walk = walk_from(few.space(), from.term, 2, most, kDepth, seed)) {
        ++walks;
        for (const Term& state : walk->states) EXPECT_LE(state.nodes.size(), most) << text;
      }
      if (const auto walk = walk_from(few.space(), from.term, 2, kNodesMax, kDepth, seed))
        larger += walk->states.back().nodes.size() > most ? 1 : 0;
    }
  }
  EXPECT_GT(walks, 10u);
  EXPECT_GT(larger, 10u);
}

// No rule of these restores a removed logarithm.
TEST(Walks, EndWhereNothingLeadsBack) {
  const Start from = start("log(exp(x)) + y");
  const Few few(from.source, {"log-exp"});
  EXPECT_EQ(egraph::neighbours(few.space(), from.term, kMatchSteps).size(), 1u);
  EXPECT_FALSE(walk_from(few.space(), from.term, 1, kNodesMax, kDepth, 1));
}

TEST(Walks, AreTheSameForOneSeedAndHaveAGraphForEachState) {
  WalkOptions options, other;
  options.seed = 3, options.walks = 12, options.steps = 3;
  other = options, other.seed = 4;
  const GuideSamples samples = walked(options), again = walked(options);
  EXPECT_EQ(samples.features, again.features);
  EXPECT_EQ(samples.changes, again.changes);
  ASSERT_EQ(samples.samples.size(), again.samples.size());
  EXPECT_EQ(samples.graphs, 36u);
  std::map<std::uint32_t, std::set<std::uint32_t>> graphs_of;
  std::set<std::uint32_t> with_way_back;
  for (std::size_t i = 0; i < samples.samples.size(); ++i) {
    const GuideSample& s = samples.samples[i];
    EXPECT_EQ(s.needed, again.samples[i].needed);
    EXPECT_EQ(s.scalars, again.samples[i].scalars);
    graphs_of[s.episode].insert(s.graph);
    if (s.needed) with_way_back.insert(s.graph);
  }
  EXPECT_EQ(with_way_back.size(), 36u);
  ASSERT_EQ(graphs_of.size(), 12u);
  for (const auto& [episode, graphs] : graphs_of) EXPECT_EQ(graphs.size(), 3u);
  EXPECT_NE(samples.features, walked(other).features);
}

TEST(Walks, LeaveOutWhatTheyAreTold) {
  WalkOptions options;
  options.seed = 3, options.walks = 10, options.steps = 2;
  std::map<std::uint16_t, std::size_t> met;
  for (const GuideSample& s : walked(options).samples) met[s.rule] += s.needed ? 1 : 0;
  const auto most =
      std::max_element(met.begin(), met.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  ASSERT_GT(most->second, 2u);
  options.leaves_out = [&](const GuideSample& s) { return s.rule == most->first; };
  std::set<std::uint32_t> with_way_back;
  for (const GuideSample& s : walked(options).samples) {
    EXPECT_NE(s.rule, most->first);
    if (s.needed) with_way_back.insert(s.graph);
  }
  EXPECT_EQ(with_way_back.size(), 20u);
}

/// Samples of graphs and walks with their scores.
struct Scored {
  std::uint32_t episode, graph;
  bool needed;
  double score;
};

// Two walks of two states each. First: alone at the top; second: a way back and another share it; third: the way back
// is last; fourth: two ways back, both at the top.
TEST(Walks, AreRankedByPlaces) {
  const std::vector<Scored> all = {{0, 0, true, 3},  {0, 0, false, 1}, {0, 1, true, 2},  {0, 1, false, 2},
                                   {1, 2, false, 5}, {1, 2, false, 4}, {1, 2, false, 3}, {1, 2, true, -1},
                                   {1, 3, true, 7},  {1, 3, true, 7},  {1, 3, false, 6}, {1, 3, false, 2}};
  GuideSamples samples;
  for (const Scored& s : all) {
    GuideSample& sample = samples.samples.emplace_back();
    sample.episode = s.episode, sample.graph = s.graph, sample.needed = s.needed;
  }
  const Score score = [&](const GuideSample& s) {
    return all[static_cast<std::size_t>(&s - samples.samples.data())].score;
  };
  const Ranking ranking = rank_ways_back(samples, score);
  EXPECT_EQ(ranking.states, 4u);
  EXPECT_DOUBLE_EQ(ranking.first, (1 + 0.5 + 0 + 1) / 4);
  EXPECT_DOUBLE_EQ(ranking.chance, (0.5 + 0.5 + 0.25 + 0.5) / 4);
  EXPECT_EQ(ends_solved(samples, score), (std::vector<bool>{false, true}));
}

}  // namespace
}  // namespace trident::learn
