// Oracles: all orders in which a few matches can be taken and left, tried one after the other; tree costs of terms
// as they are written out; labels that are known.
#include "jit/learn/q_teacher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "jit/expr/rewrite/compiled_rules.h"
#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/language.h"
#include "jit/learn/few_rules.h"

namespace trident::learn {
namespace {

using egraph::Candidate;

/// Sums the costs of a term as it is written out, where every node costs something (jit/nnue/follower.cpp).
double tree_cost(const egraph::Term& term, const egraph::CostModel& costs) {
  const auto least = [](const void* of, const egraph::ENode& node, std::uint8_t stage) {
    return std::max(static_cast<const egraph::CostModel*>(of)->of(node, stage), 1.0 / 64);
  };
  return egraph::tree_cost(term, expr::rewrite::op_rows(), {&costs, least, costs.stage});
}

/// Shows a guide the first graph of a search, and records its result; the others are left at once.
class FirstGraph final : public egraph::Guide {
 public:
  explicit FirstGraph(egraph::Guide& guide) : guide_(guide) {}
  void begin(const egraph::GuidedGraph& graph) override {
    if (!graph.first) {
      over_ = true;
      return;
    }
    costs_ = &graph.costs;
    guide_.begin(graph);
  }
  void add(std::span<const Candidate> matches) override {
    if (!over_) guide_.add(matches);
  }
  std::optional<Candidate> take() override { return over_ ? std::nullopt : guide_.take(); }
  void follow() override {
    if (!over_) guide_.follow();
  }
  void end(const egraph::Term& found) override {
    if (over_) return;
    cost_found = tree_cost(found, *costs_);
    guide_.end(found);
  }
  double cost_found = 0;

 private:
  egraph::Guide& guide_;
  const egraph::CostModel* costs_ = nullptr;
  bool over_ = false;
};

/// A term and the rules that may rewrite it.
struct Tiny {
  Tiny(const char* text, const std::set<std::string>& names) : rules(rules_named(names)) {
    auto parsed = expr::parse_infix(text);
    CHECK(parsed.ok());
    source = std::move(*parsed);
  }
  void search(egraph::Guide& guide) const {
    expr::rewrite::RewriteOptions how;
    how.policy.kind = expr::PolicyKind::fast;
    how.strategy = egraph::Strategy::guided;
    how.costs = expr::rewrite::reference_costs();
    how.budget = {.nodes = 400, .nanoseconds = 0, .applications = 200, .graph_nodes = 400};
    how.rules = &rules;
    how.guide = &guide;
    CHECK(expr::rewrite::rewrite(source, how).ok());
  }
  expr::Expr source;
  expr::rewrite::CompiledRules rules;
};

constexpr double kPrice = 0.05, kDiscount = 0.9;

/// Result of one sequence of choices.
struct Way {
  std::vector<bool> choices;
  std::vector<std::vector<std::byte>> states;
  std::vector<std::uint16_t> rules;  ///< rules that were offered
  std::vector<double> rewards;
  train::Outcome outcome = train::Outcome::going;
  double cost_found = 0;
};

Way go(const Tiny& tiny, const QTeacher& seen_by, const std::vector<bool>& script) {
  Way way;
  egraph::ConstantGuide order;
  const auto rules = static_cast<std::uint32_t>(tiny.rules.set().rules.size());
  const nnue::KindTable& kinds = expr::rewrite::node_kinds();
  TakeOrLeave guide(counting_weights(kinds, nnue::kDefaultDepth, rules), kinds, nnue::kDefaultDepth,
                    {.price = kPrice,
                     .state_bytes = seen_by.state_bytes(),
                     .describe =
                         [&](const GuideSamples& noted, const GuideSample& match, std::span<std::byte> state) {
                           way.rules.push_back(match.rule);
                           seen_by.describe(noted, match, state);
                         },
                     .takes =
                         [&](std::span<const std::byte> state) {
                           const std::size_t turn = way.choices.size();
                           way.states.emplace_back(state.begin(), state.end());
                           way.choices.push_back(turn < script.size() && script[turn]);
                           return bool{way.choices.back()};
                         },
                     .tell =
                         [&](const Decision& d) {
                           EXPECT_EQ(d.taken, way.choices[way.rewards.size()]);
                           way.rewards.push_back(d.reward);
                           way.outcome = d.outcome;
                         }});
  guide.ask(order);
  FirstGraph first(guide);
  tiny.search(first);
  way.cost_found = first.cost_found;
  return way;
}

std::vector<Way> all_ways(const Tiny& tiny, const QTeacher& seen_by) {
  std::vector<Way> ways;
  std::vector<bool> script;
  for (;;) {
    ways.push_back(go(tiny, seen_by, script));
    script = ways.back().choices;
    while (!script.empty() && script.back()) script.pop_back();
    if (script.empty()) return ways;
    script.back() = true;
    CHECK(ways.size() < 20'000);
  }
}

struct Choice {
  std::vector<std::byte> state;
  double leave = -1e9, take = -1e9;  ///< the best that can follow
};

std::map<std::vector<bool>, Choice> choices_of(const std::vector<Way>& ways) {
  std::map<std::vector<bool>, Choice> choices;
  for (const Way& way : ways) {
    double value = 0;
    for (std::size_t i = way.choices.size(); i-- > 0;) {
      value = way.rewards[i] + kDiscount * value;
      Choice& choice = choices[{way.choices.begin(), way.choices.begin() + static_cast<std::ptrdiff_t>(i)}];
      choice.state = way.states[i];
      double& best = way.choices[i] ? choice.take : choice.leave;
      best = std::max(best, value);
    }
  }
  return choices;
}

std::unique_ptr<Network> small_network(std::size_t rules) {
  NetworkShape shape;
  shape.width = 16, shape.rules = static_cast<std::uint32_t>(rules);
  return std::make_unique<Network>(shape, expr::rewrite::node_kinds().hash, 7);
}

QTeacherOptions tiny_options() {
  return {.seed = 3,
          .price = kPrice,
          .discount = kDiscount,
          .steps = 1,
          .learn_every = 1,
          .capacity = 4'000,
          .hidden = {48, 32},
          .rate = 2e-3,
          .exploration = {.first = 1, .last = 0.5, .decay = 0.995}};
}

const std::set<std::string> kFew = {"log-exp", "exp-mul-rev", "exp-add"};

TEST(QTeacher, RewardsAddUpToWhatWasGainedLessThePrice) {
  const Tiny tiny("log(exp(x)) + exp(y)*exp(z)", kFew);
  const auto network = small_network(tiny.rules.set().rules.size());
  const QTeacher teacher(*network, expr::rewrite::node_kinds(), {}, tiny_options());
  const std::vector<Way> ways = all_ways(tiny, teacher);
  const double nothing_taken = ways.front().cost_found;  // searches fold and collect before any rule is applied
  std::set<double> found;
  for (const Way& way : ways) {
    ASSERT_EQ(way.choices.size(), way.rewards.size());
    EXPECT_EQ(way.outcome, train::Outcome::terminal);
    double sum = 0;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < way.rewards.size(); ++i) sum += way.rewards[i], taken += way.choices[i] ? 1 : 0;
    EXPECT_NEAR(std::log((nothing_taken + 1) / (way.cost_found + 1)) - kPrice * static_cast<double>(taken), sum, 1e-9);
    found.insert(way.cost_found);
  }
  EXPECT_GE(found.size(), 4u);  // either, both or none of two rewrites that gain
}

TEST(QTeacher, WhatIsLeftIsOfferedAgainWhenSomethingWasTaken) {
  const Tiny tiny("log(exp(x)) + exp(y)*exp(z)", kFew);  // the only logarithm that there ever is
  const auto network = small_network(tiny.rules.set().rules.size());
  const QTeacher teacher(*network, expr::rewrite::node_kinds(), {}, tiny_options());
  const auto& rules = tiny.rules.set().rules;
  const auto of_logarithm = static_cast<std::uint16_t>(
      std::find_if(rules.begin(), rules.end(), [](const auto& r) { return r.name == "log-exp"; }) - rules.begin());
  std::set<std::ptrdiff_t> taken_at_last;  // at the offer of this number
  for (const Way& way : all_ways(tiny, teacher)) {
    const auto offers = std::count(way.rules.begin(), way.rules.end(), of_logarithm);
    const auto taken = std::count(way.choices.begin(), way.choices.end(), true);
    EXPECT_LE(offers, taken + 1);  // once for every other match that was taken, and once for itself
    for (std::size_t i = 0; i < way.choices.size(); ++i)
      if (way.rules[i] == of_logarithm && way.choices[i]) taken_at_last.insert(offers);
  }
  EXPECT_TRUE(taken_at_last.contains(1) && taken_at_last.contains(2));
}

TEST(QTeacher, ChoosesAsTheBestOfAllOrdersDoes) {
  std::size_t asked = 0, agreed = 0, takes = 0;
  for (const char* text : {"log(exp(x)) + exp(y)*exp(z)", "exp(x + y) + log(exp(z))", "exp(x)*exp(y)*z"}) {
    const Tiny tiny(text, kFew);
    const auto network = small_network(tiny.rules.set().rules.size());
    QTeacher teacher(*network, expr::rewrite::node_kinds(), {}, tiny_options());
    for (std::uint32_t episode = 0; episode < 800; ++episode) {
      egraph::ConstantGuide order;
      FirstGraph first(teacher.between(order, episode));
      tiny.search(first);
    }
    ASSERT_TRUE(teacher.state().ok());
    for (const auto& [before, choice] : choices_of(all_ways(tiny, teacher))) {
      if (std::fabs(choice.take - choice.leave) < 0.01) continue;
      const bool takes_it = teacher.advantage(choice.state) > 0;
      ++asked, agreed += takes_it == (choice.take > choice.leave) ? 1 : 0, takes += takes_it ? 1 : 0;
    }
  }
  EXPECT_GE(asked, 30u);
  EXPECT_GE(static_cast<double>(agreed), 0.95 * static_cast<double>(asked)) << agreed << " of " << asked;
  EXPECT_GT(takes, asked / 20);
  EXPECT_LT(takes, asked - asked / 20);
}

TEST(QTeacher, BothTeachersAreHeardAlike) {
  GuideSamples samples;
  for (const bool needed : {false, true}) samples.samples.emplace_back().needed = needed;
  const float labels[] = {0.25f, 0.75f};
  EXPECT_EQ(mean_of_both(labels, samples), (std::vector<float>{0.125f, 0.875f}));
}

TEST(QTeacher, LabelsAreWhatIsLearnt) {
  EpisodeOptions play_options;
  play_options.episodes = 60;
  const GuideSamples train = play(play_options);
  std::vector<float> otherwise;
  for (const GuideSample& s : train.samples) otherwise.push_back(s.needed ? 0.0f : 1.0f);
  const auto learnt = [&](std::span<const float> labels) {
    NetworkShape shape;
    shape.width = 16, shape.rules = static_cast<std::uint32_t>(expr::rewrite::builtin_rules().rules.size()) + 1;
    Network network(shape, expr::rewrite::node_kinds().hash, 1);
    GuideTraining how;
    how.trainer.folder = ::testing::TempDir() + "q-teacher-labels" + (labels.empty() ? "-none" : "");
    std::filesystem::create_directories(how.trainer.folder);
    how.trainer.seed = 1, how.trainer.epochs = 3, how.trainer.samples_per_shard = 32;
    how.trainer.schedule = {.peak = 3e-3};
    how.labels = labels;
    CHECK(train_guide(network, train, train, how).ok());
    std::vector<std::uint32_t> list;
    return area_under_curve(train, [&](const GuideSample& s) {
      return network.score(nn::HeadKind::guide, example_of(train, s, {}, list));
    });
  };
  EXPECT_GT(learnt({}), 0.8);
  EXPECT_LT(learnt(otherwise), 0.4);  // the best epoch is chosen by hindsight, among three that learn the opposite
}

}  // namespace
}  // namespace trident::learn
