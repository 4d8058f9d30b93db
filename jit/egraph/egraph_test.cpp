// Oracles: a congruence closure that compares all pairs until nothing changes; an enumeration of all ways to place a
// pattern; exhaustive choice of nodes for the cost of extracted terms; numeric values for rewritten terms.
#include "jit/egraph/egraph.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "jit/egraph/extract.h"
#include "jit/egraph/matcher.h"
#include "jit/egraph/search.h"
#include "jit/egraph/toy_language.h"
#include "jit/egraph/toy_terms.h"

namespace trident::egraph {
namespace {

using toy::kAdd, toy::kFma, toy::kMul, toy::kNeg, toy::kSub;
using toy::kCosts, toy::random_graph, toy::random_term, toy::rules, toy::value;

// All terms ever added, and which are equal: merged ones, and those with equal op and operands, to a fixed point.
class NaiveCongruence {
 public:
  std::uint32_t add(ENode node) {
    nodes_.push_back(node);
    group_.push_back(static_cast<std::uint32_t>(group_.size()));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  void merge(std::uint32_t a, std::uint32_t b) { join(a, b); }
  void close() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        for (std::uint32_t j = 0; j < i; ++j) {
          if (group_[i] != group_[j] && congruent(nodes_[i], nodes_[j])) join(i, j), changed = true;
        }
      }
    }
  }
  bool equal(std::uint32_t a, std::uint32_t b) const { return group_[a] == group_[b]; }

 private:
  bool congruent(const ENode& a, const ENode& b) const {
    if (a.op != b.op) return false;
    const OpRow& row = toy::kOps[a.op];
    if (row.children == 0) return a.child == b.child;
    const auto same = [&](int i, int j) { return group_[a.child[i]] == group_[b.child[j]]; };
    if (row.children == 3 && !same(2, 2)) return false;
    if (row.children == 1) return same(0, 0);
    return (same(0, 0) && same(1, 1)) || (row.commutes && same(0, 1) && same(1, 0));
  }
  void join(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t from = group_[a], to = group_[b];
    for (std::uint32_t& g : group_) {
      if (g == from) g = to;
    }
  }
  std::vector<ENode> nodes_;
  std::vector<std::uint32_t> group_;
};

TEST(EGraph, EqualitiesAreThoseOfNaiveCongruence) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    EGraph graph(toy::kOps, toy::plain(), {});
    NaiveCongruence naive;
    std::vector<ClassId> classes;
    const auto pick = [&] { return static_cast<std::uint32_t>(random() % classes.size()); };
    for (int i = 0; i < 4; ++i) classes.push_back(graph.add(toy::leaf(i))), naive.add(toy::leaf(i));
    for (int step = 0; step < 60; ++step) {
      if (random() % 4 != 0) {
        const auto op = static_cast<toy::Op>(kAdd + random() % 5);
        const std::uint32_t a = pick(), b = pick(), c = pick();
        const std::uint8_t arity = toy::kOps[op].children;
        naive.add(toy::node(op, a, b, c));
        classes.push_back(graph.add(toy::node(op, classes[a], arity > 1 ? classes[b] : 0, arity > 2 ? classes[c] : 0)));
      } else {
        const std::uint32_t a = pick(), b = pick();
        naive.merge(a, b);
        graph.merge(classes[a], classes[b]);
      }
      if (random() % 8 == 0) graph.rebuild();
    }
    graph.rebuild();
    naive.close();
    for (std::uint32_t i = 0; i < classes.size(); ++i) {
      for (std::uint32_t j = 0; j < i; ++j) {
        ASSERT_EQ(graph.find(classes[i]) == graph.find(classes[j]), naive.equal(i, j)) << "seed " << seed;
      }
    }
    // The canonical nodes are all different, and each is found in its class.
    std::set<std::tuple<int, std::uint32_t, std::uint32_t, std::uint32_t>> seen;
    std::uint32_t members = 0;
    for (ClassId id = 0; id < graph.size(); ++id) {
      if (graph.find(id) != id) continue;
      graph.each_node(id, [&](NodeIndex n) {
        const ENode& e = graph.node(n);
        EXPECT_TRUE(seen.insert({e.op, e.child[0], e.child[1], e.child[2]}).second);
        EXPECT_EQ(graph.find(n), id);
        EXPECT_EQ(graph.lookup(e), id);
        EXPECT_TRUE((graph.ops_held(id) >> (e.op % 64)) & 1);
        ++members;
      });
    }
    EXPECT_EQ(members, graph.live());
  }
}

TEST(EGraph, ConstantsFoldAndPrune) {
  EGraph graph(toy::kOps, toy::semantics(), {});
  const ClassId x = graph.add(toy::leaf(0)), two = graph.add(toy::number(2));
  const ClassId sum = graph.add(toy::node(kAdd, x, two)), product = graph.add(toy::node(kMul, sum, sum));
  graph.merge(x, graph.add(toy::number(3)));
  graph.rebuild();
  EXPECT_EQ(graph.find(product), graph.find(graph.add(toy::number(25))));
  int members = 0;
  graph.each_node(graph.find(product), [&](NodeIndex) { ++members; });
  EXPECT_EQ(members, 1);
  EXPECT_FALSE(graph.contradiction());
  graph.merge(x, two);
  graph.rebuild();
  EXPECT_TRUE(graph.contradiction());
}

TEST(EGraph, StopsAtItsLimit) {
  EGraph graph(toy::kOps, toy::plain(), {.nodes_max = 50});
  ClassId last = graph.add(toy::leaf(0));
  for (int i = 0; i < 100 && last != kNone; ++i) last = graph.add(toy::node(kNeg, last));
  EXPECT_EQ(last, kNone);
  EXPECT_EQ(graph.size(), 50u);
  EXPECT_EQ(graph.add(toy::leaf(0)), 0u);  // nodes of the full graph are still found
}

// --- matching -----------------------------------------------------------------------------------------------------

// Finds every way to place `term` of the pattern at class `id`, by trying all nodes of the graph.
void place(const EGraph& graph, const Pattern& pattern, std::uint8_t term, ClassId id, std::vector<ClassId> bound,
           const std::function<void(std::vector<ClassId>)>& then) {
  const PatternTerm& t = pattern.terms[term];
  if (t.kind == PatternTerm::Kind::number) {
    if (graph.facts(id).constant && graph.facts(id).lo == t.number) then(bound);
    return;
  }
  if (t.kind == PatternTerm::Kind::variable) {
    if (bound[t.variable] != kNone && bound[t.variable] != id) return;
    bound[t.variable] = id;
    then(bound);
    return;
  }
  const std::uint8_t arity = graph.row(t.op).children;
  graph.each_node(id, [&](NodeIndex n) {
    const ENode node = graph.node(n);
    if (node.op != t.op) return;
    for (const bool swapped : {false, true}) {
      if (swapped && !graph.row(t.op).commutes) break;
      const ClassId first = node.child[swapped ? 1 : 0], second = node.child[swapped ? 0 : 1];
      place(graph, pattern, t.child[0], first, bound, [&](std::vector<ClassId> b1) {
        if (arity == 1) return then(b1);
        place(graph, pattern, t.child[1], second, b1, [&](std::vector<ClassId> b2) {
          if (arity == 2) return then(b2);
          place(graph, pattern, t.child[2], node.child[2], b2, then);
        });
      });
    }
  });
}

TEST(Matcher, FindsWhatEnumerationFinds) {
  const std::vector<Rule> all = rules();
  const Matcher matcher(all, toy::kOps);
  EXPECT_LT(matcher.steps(), matcher.steps_unshared());
  std::size_t found = 0;
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    EGraph graph(toy::kOps, toy::semantics(), {});
    random_graph(graph, random, 30);
    // Merging makes classes of several members. It merges leaves only, so that constants stay consistent.
    for (int i = 0; i < 3; ++i) {
      const auto a = static_cast<ClassId>(random() % graph.size()), b = static_cast<ClassId>(random() % graph.size());
      if (!graph.facts(graph.find(a)).constant && !graph.facts(graph.find(b)).constant)
        graph.merge(a, b), graph.rebuild();
    }
    std::set<std::pair<std::size_t, std::vector<ClassId>>> expected, actual;
    Members members(graph);
    for (ClassId id = 0; id < graph.size(); ++id) {
      if (graph.find(id) != id) continue;
      for (std::size_t r = 0; r < all.size(); ++r) {
        const Pattern& left = all[r].left;
        place(graph, left, static_cast<std::uint8_t>(left.terms.size() - 1), id,
              std::vector<ClassId>(all[r].variables.size(), kNone), [&](std::vector<ClassId> bound) {
                for (const Condition& c : all[r].conditions) {
                  const Facts &first = graph.facts(bound[c.variable[0]]), &second = graph.facts(bound[c.variable[1]]);
                  if (c.kind == ConditionKind::independent && (first.variables & second.variables) != 0) return;
                  if (c.kind == ConditionKind::symbolic && first.variables == 0) return;
                }
                bound.push_back(id);
                expected.insert({r, bound});
              });
      }
      Matches matches;
      std::uint64_t steps = 10'000'000;
      Watch watch;
      matcher.match(members, id, 0, matches, steps, watch);
      for (const Match& m : matches.list) {
        std::vector<ClassId> bound(
            matches.classes.begin() + m.variables,
            matches.classes.begin() + m.variables + static_cast<long>(all[m.rule].variables.size()));
        bound.push_back(m.root);
        EXPECT_EQ(graph.find(m.node), m.root);
        actual.insert({m.rule, bound});
      }
    }
    ASSERT_EQ(expected, actual) << "seed " << seed;
    found += actual.size();
  }
  EXPECT_GT(found, 1000u);
}

// --- extraction ---------------------------------------------------------------------------------------------------

// Returns the least DAG cost by trying every choice of nodes; nothing when there are too many.
double exhaustive_dag(const EGraph& graph, ClassId root) {
  std::map<ClassId, NodeIndex> choice;
  double best = 1e30;
  std::uint64_t tries = 0;
  const std::function<void(std::vector<ClassId>, double)> go = [&](std::vector<ClassId> open, double cost) {
    if (cost >= best || ++tries > 200'000) return;
    while (!open.empty() && choice.contains(open.back())) open.pop_back();
    if (open.empty()) {
      // Acyclic?
      std::map<ClassId, int> state;
      const std::function<bool(ClassId)> acyclic = [&](ClassId id) {
        if (state[id] == 2) return true;
        if (state[id] == 1) return false;
        state[id] = 1;
        const ENode& n = graph.node(choice.at(id));
        for (int c = 0; c < graph.row(n.op).children; ++c) {
          if (!acyclic(graph.find(n.child[c]))) return false;
        }
        state[id] = 2;
        return true;
      };
      if (acyclic(root)) best = cost;
      return;
    }
    const ClassId id = open.back();
    open.pop_back();
    graph.each_node(id, [&](NodeIndex n) {
      choice[id] = n;
      std::vector<ClassId> more = open;
      for (int c = 0; c < graph.row(graph.node(n).op).children; ++c) more.push_back(graph.find(graph.node(n).child[c]));
      go(more, cost + toy::toy_cost(nullptr, graph.node(n), kStageOfElements));
      choice.erase(id);
    });
  };
  go({root}, 0);
  return tries > 200'000 ? -1 : best;
}

TEST(Extractor, DagCostIsNearTheExhaustiveOptimum) {
  const std::vector<Rule> all = rules();
  const Matcher matcher(all, toy::kOps);
  int compared = 0, optimal = 0, improved = 0;
  for (std::uint32_t seed = 1; seed <= 80; ++seed) {
    std::mt19937 random(seed);
    EGraph graph(toy::kOps, toy::semantics(), {.nodes_max = 200});
    const ClassId root = random_graph(graph, random, 9);
    graph.rebuild();
    for (int round = 0; round < 2; ++round) {
      Matches matches;
      Members members(graph);
      std::uint64_t steps = 10'000'000;
      Watch watch;
      for (ClassId id = 0; id < graph.size(); ++id) {
        if (graph.find(id) == id) matcher.match(members, id, 0, matches, steps, watch);
      }
      for (const Match& m : matches.list) {
        const NodeIndex made =
            instantiate(graph, all[m.rule].right, {&matches.classes[m.variables], all[m.rule].variables.size()}, 0);
        if (made != kNone) graph.merge(m.root, made);
      }
      graph.rebuild();
    }
    ASSERT_FALSE(graph.contradiction());
    const ClassId top = graph.find(root);
    Extractor extractor(graph, kCosts);
    const Term tree = extractor.tree({{top}}), dag = extractor.dag({{top}});
    ASSERT_EQ(tree.roots.size(), 1u);
    EXPECT_LE(dag_cost(dag, toy::kOps, kCosts), dag_cost(tree, toy::kOps, kCosts));
    EXPECT_LE(tree_cost(tree, toy::kOps, kCosts), tree_cost(dag, toy::kOps, kCosts));
    improved += dag_cost(dag, toy::kOps, kCosts) < dag_cost(tree, toy::kOps, kCosts);
    Extractor hurried(graph, kCosts, Watch([] { return true; }));  // no time: the choice by tree cost stands
    EXPECT_EQ(dag_cost(hurried.dag({{top}}), toy::kOps, kCosts), dag_cost(tree, toy::kOps, kCosts));
    // The extracted term is in the class.
    EXPECT_EQ(graph.find(add(graph, dag)[0]), top);
    const double optimum = exhaustive_dag(graph, top);
    if (optimum < 0) continue;
    ++compared;
    EXPECT_GE(dag_cost(dag, toy::kOps, kCosts), optimum);
    EXPECT_LE(dag_cost(dag, toy::kOps, kCosts), 1.25 * optimum + 1);
    optimal += dag_cost(dag, toy::kOps, kCosts) == optimum;
  }
  EXPECT_GT(compared, 30);
  EXPECT_GT(optimal, compared * 9 / 10);
  EXPECT_GT(improved, 0);
}

TEST(Extractor, DiverseTermsDifferAndMeanTheSame) {
  EGraph graph(toy::kOps, toy::semantics(), {});
  const ClassId a = graph.add(toy::leaf(0)), b = graph.add(toy::leaf(1));
  const ClassId one = graph.add(toy::node(kAdd, a, b)), two = graph.add(toy::node(kMul, a, b));
  const ClassId three = graph.add(toy::node(kSub, a, b));
  graph.merge(one, two);
  graph.merge(two, three);
  graph.rebuild();
  Extractor extractor(graph, kCosts);
  const std::vector<Term> terms = extractor.diverse({{graph.find(one)}}, 3);
  ASSERT_EQ(terms.size(), 3u);
  EXPECT_LE(dag_cost(terms[0], toy::kOps, kCosts), dag_cost(terms[1], toy::kOps, kCosts));
  std::set<int> ops;
  for (const Term& t : terms) ops.insert(t.nodes[t.roots[0]].op);
  EXPECT_EQ(ops, (std::set<int>{kAdd, kMul, kSub}));
}

// The sets of classes that extraction compares grow with the square of a graph; its memory does not.
TEST(Extractor, LargeGraphsTakeBoundedMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer reserves more address space than the limit";
#endif
  const auto extract = [] {
    constexpr std::uint32_t kNodes = 100'000;  // 1.25 GB of bits, one for each pair
    const rlimit limit{rlim_t{1} << 30, rlim_t{1} << 30};
    CHECK(::setrlimit(RLIMIT_AS, &limit) == 0);
    EGraph graph(toy::kOps, toy::plain(), {.nodes_max = 2 * kNodes});
    ClassId last = graph.add(toy::leaf(0));
    const ClassId other = graph.add(toy::leaf(1));
    for (std::uint32_t i = 0; i < kNodes; ++i) last = graph.add(toy::node(kSub, last, other));
    Extractor extractor(graph, kCosts);
    const Term term = extractor.dag({{last}});
    std::exit(term.nodes.size() == kNodes + 2 ? 0 : 1);
  };
  EXPECT_EXIT(extract(), ::testing::ExitedWithCode(0), "");
}

// --- search -------------------------------------------------------------------------------------------------------

TEST(Search, EveryStrategyKeepsValueAndBudget) {
  const std::vector<Rule> all = rules();
  const Matcher matcher(all, toy::kOps);
  const SearchSpace space{toy::kOps, toy::semantics(), &matcher, kCosts, {}};
  int cheaper = 0;
  for (const Strategy strategy :
       {Strategy::saturate, Strategy::pulse, Strategy::best_first, Strategy::random, Strategy::hostile}) {
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
      const Term initial = random_term(seed);
      SearchOptions options;
      options.strategy = strategy;
      options.seed = seed;
      options.keep = 3;
      options.budget = {.nodes = 300, .nanoseconds = 0, .applications = 4000, .graph_nodes = 3000};
      const SearchResult result = search(space, initial, options);
      ASSERT_FALSE(result.terms.empty());
      EXPECT_LE(dag_cost(result.terms[0], toy::kOps, kCosts), dag_cost(initial, toy::kOps, kCosts));
      cheaper += dag_cost(result.terms[0], toy::kOps, kCosts) < dag_cost(initial, toy::kOps, kCosts);
      EXPECT_LE(result.stats.applications, 4000u);
      EXPECT_LE(result.stats.nodes, 3300u);
      const std::array<double, 3> leaves{3, -5, 7};
      for (const Term& t : result.terms)
        EXPECT_EQ(value(t, leaves), value(initial, leaves)) << name_of(strategy) << seed;
      const SearchResult again = search(space, initial, options);
      ASSERT_EQ(again.terms[0].nodes.size(), result.terms[0].nodes.size());
      EXPECT_EQ(dag_cost(again.terms[0], toy::kOps, kCosts), dag_cost(result.terms[0], toy::kOps, kCosts));
      EXPECT_EQ(again.stats.applications, result.stats.applications);
    }
  }
  EXPECT_GT(cheaper, 100);
}

TEST(Search, CountsNodesThatRulesAddApart) {
  const std::vector<Rule> all = rules();
  const Matcher matcher(all, toy::kOps), none(all, toy::kOps, std::vector<bool>(all.size(), false));
  Term initial;
  initial.nodes = {toy::leaf(0), toy::leaf(1), toy::node(kAdd, 0, 1), toy::node(kMul, 2, 1)};
  initial.roots = {3};
  SearchOptions options;
  options.strategy = Strategy::saturate;
  options.budget = {.nodes = 300, .nanoseconds = 0};
  for (const Matcher* m : {&matcher, &none}) {
    const SearchStats stats = search({toy::kOps, toy::semantics(), m, kCosts, {}}, initial, options).stats;
    EXPECT_EQ(stats.nodes, stats.nodes_applied + 4);
    EXPECT_EQ(stats.nodes_applied > 0, m == &matcher);
  }
}

// Returns a sum that has more orders than any graph has room for.
Term sum_of_leaves() {
  Term sum;
  sum.nodes.push_back(toy::leaf(0));
  for (std::uint32_t i = 1; i < 12; ++i) {
    sum.nodes.push_back(toy::leaf(i));
    sum.nodes.push_back(toy::node(kAdd, 2 * i - 2, 2 * i - 1));
  }
  sum.roots = {22};
  return sum;
}

TEST(Search, SaysWhyItStopped) {
  const std::vector<Rule> all = rules();
  const Matcher matcher(all, toy::kOps), none(all, toy::kOps, std::vector<bool>(all.size(), false));
  const Term sum = sum_of_leaves();
  const auto run = [&](const SearchBudget& budget, Strategy strategy, const Matcher& m) {
    return search({toy::kOps, toy::semantics(), &m, kCosts, {}}, sum, {.strategy = strategy, .budget = budget}).stats;
  };
  const std::atomic<bool> cancelled{true};
  for (const Strategy strategy : {Strategy::saturate, Strategy::pulse, Strategy::best_first}) {
    const auto stop = [&](const SearchBudget& budget) { return run(budget, strategy, matcher).stop; };
    EXPECT_EQ(Stop::saturated, run({.nodes = 300, .nanoseconds = 0}, strategy, none).stop);
    EXPECT_EQ(Stop::nodes, stop({.nodes = 300, .nanoseconds = 0}));
    EXPECT_EQ(Stop::nodes, stop({.nodes = 20, .nanoseconds = 0}));  // no room for the term
    EXPECT_EQ(Stop::time, stop({.nodes = 300, .nanoseconds = 1}));
    EXPECT_EQ(Stop::applications, stop({.nodes = 300, .nanoseconds = 0, .applications = 100}));
    EXPECT_EQ(Stop::cancelled, stop({.nodes = 300, .nanoseconds = 0, .cancelled = &cancelled}));
    const SearchStats bounded =
        run({.nodes = 1'000'000, .nanoseconds = 0, .bytes = std::size_t{4} << 20}, strategy, matcher);
    EXPECT_EQ(Stop::bytes, bounded.stop) << name_of(strategy);
    EXPECT_LE(bounded.bytes_max, std::size_t{4} << 20);
    EXPECT_EQ(Stop::bytes, stop({.nodes = 300, .nanoseconds = 0, .bytes = 1'000}));
  }
}

// Graphs use the room that the limit gives, whatever their initial size.
TEST(Search, GraphsGrowToTheirLimit) {
  const std::vector<Rule> all = rules();
  const Matcher matcher(all, toy::kOps);
  const Term sum = sum_of_leaves();
  std::uint64_t before = 0;
  for (const std::uint32_t nodes : {1'000u, 4'000u, 12'000u}) {
    const SearchStats stats = search({toy::kOps, toy::semantics(), &matcher, kCosts, {}}, sum,
                                     {.strategy = Strategy::best_first, .budget = {.nodes = nodes, .nanoseconds = 0}})
                                  .stats;
    EXPECT_EQ(Stop::nodes, stats.stop);
    EXPECT_GT(stats.nodes, before + nodes);
    EXPECT_LE(stats.nodes, stats.graphs * std::uint64_t{nodes});
    before = stats.nodes;
  }
}

TEST(Watch, AsksOnceInSoManyStepsAndNeverAgainWhenItIsLate) {
  int asked = 0;
  bool late = false;
  Watch watch([&] { return ++asked, late; });
  for (std::uint64_t i = 0; i < 10 * Watch::kStepsPerLook; ++i) EXPECT_FALSE(watch.spend());
  EXPECT_EQ(10, asked);
  EXPECT_FALSE(watch.spend(5 * Watch::kStepsPerLook));  // large amounts of work look at the clock at once
  EXPECT_EQ(11, asked);
  late = true;
  std::uint64_t steps = 0;
  while (!watch.spend()) ++steps;
  EXPECT_LT(steps, Watch::kStepsPerLook);
  late = false;
  EXPECT_TRUE(watch.look());
  EXPECT_TRUE(watch.spend());
  EXPECT_EQ(12, asked);
  Watch endless;
  EXPECT_FALSE(endless.spend(1'000'000'000));
}

TEST(Watch, HoldsNoMoreThanThereIs) {
  Watch watch({}, 100);
  EXPECT_TRUE(watch.hold(60));
  EXPECT_FALSE(watch.hold(41));
  EXPECT_TRUE(watch.hold(40));
  watch.release(50);
  EXPECT_TRUE(watch.hold(10));
  EXPECT_EQ(100u, watch.held_max());
}

TEST(Search, UnsoundRulesAreNoticedByConstants) {
  std::vector<Rule> all;
  for (const char* text : {"zero: (sub ?a ?b) => 0", "one: (sub ?a ?b) => 1"}) {
    Result<Rule> wrong = parse_rule(text, toy::kOps);
    ASSERT_TRUE(wrong.ok());
    all.push_back(std::move(wrong).value());
  }
  const Matcher matcher(all, toy::kOps);
  Term initial;
  initial.nodes = {toy::leaf(0), toy::leaf(1), toy::node(kSub, 0, 1), toy::node(kAdd, 2, 0)};
  initial.roots = {3};
  const SearchResult result = search({toy::kOps, toy::semantics(), &matcher, kCosts, {}}, initial, {});
  EXPECT_EQ(result.stats.stop, Stop::contradiction);
  EXPECT_EQ(result.terms.size(), 1u);
  EXPECT_EQ(dag_cost(result.terms[0], toy::kOps, kCosts), dag_cost(initial, toy::kOps, kCosts));
}

// --- text ---------------------------------------------------------------------------------------------------------

TEST(Pattern, PrintsWhatItParsed) {
  for (const Rule& rule : rules()) {
    std::vector<std::string> variables;
    const std::string text = print(rule.left, toy::kOps, rule.variables);
    const Result<Pattern> again = parse_pattern(text, toy::kOps, variables, false);
    ASSERT_TRUE(again.ok()) << text;
    EXPECT_EQ(print(*again, toy::kOps, variables), text);
  }
}

TEST(Pattern, ErrorsNameTheColumnAndTheFault) {
  const auto message = [](const char* text) {
    const Result<Rule> rule = parse_rule(text, toy::kOps);
    if (rule.ok()) return std::string("no error");
    return rule.error().message.substr(0, rule.error().message.find('\n'));
  };
  EXPECT_EQ(message("x: (plus ?a ?b) => ?a"), "<text>:1:5: there is no op \"plus\"");
  EXPECT_EQ(message("x: (add ?a) => ?a"), "<text>:1:12: \"add\" takes 2 operands");
  EXPECT_EQ(message("x: (add ?a ?b) => ?c"), "<text>:1:20: ?c is not on the left side");
  EXPECT_EQ(message("x: ?a => (add ?a 0)"), "<text>:1:6: the left side must be an operation");
  EXPECT_EQ(message("x: (neg ?a) => ?a if odd(?a)"), "<text>:1:22: there is no condition \"odd\"");
  EXPECT_EQ(message("x (neg ?a) => ?a"), "<text>:1:3: expected \"name:\"");
}

TEST(Pattern, ErrorsPointIntoTheLineOfTheSource) {
  const std::string_view text = "; two rules\n  x: (neg ?a) => (plus ?a 1)\n";
  const ir::SourceText source(text, "mine.rules");
  const Result<Rule> rule = parse_rule(source, text.find("x:"), toy::kOps);
  ASSERT_FALSE(rule.ok());
  EXPECT_EQ(rule.error().message,
            "mine.rules:2:19: there is no op \"plus\"\n    x: (neg ?a) => (plus ?a 1)\n                    ^");
}

TEST(Pattern, ConditionsHaveNamesAndSentences) {
  const Result<Rule> rule = parse_rule("x: (add ?a ?b) => ?a if nonzero(?b), le(?a, ?b)", toy::kOps);
  ASSERT_TRUE(rule.ok());
  EXPECT_EQ(print(rule->conditions[0], rule->variables), "nonzero(?b)");
  EXPECT_EQ(explain(rule->conditions[0], rule->variables), "?b is never zero");
  EXPECT_EQ(print(rule->conditions[1], rule->variables), "le(?a, ?b)");
  EXPECT_EQ(explain(rule->conditions[1], rule->variables), "?a is never above ?b");
}

}  // namespace
}  // namespace trident::egraph
