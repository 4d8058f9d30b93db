// The cost of keeping the accumulator of the incumbent extraction, and of scoring candidates: random expressions of
// some 50, 120 and 300 nodes, all matches of the built-in rules in them, random weights whose rows lie hot first.
//
// An update is one accepted rewrite: the choices of its new nodes, and the new choice of its class. Each is
// timed by itself, the counter's own time taken off, at its first acceptance; then the way back. Beside it the
// accumulator is rebuilt from nothing.
//
// How many features a rewrite changes is counted for those expressions and for bench/corpus/rewrite.txt (run it in the
// repository's root), of all matches and of those that a search would accept, whose term is no dearer than before.
#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <utility>

#include "bench/ratio.h"
#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/rewrite.h"
#include "jit/nnue/candidates.h"
#include "jit/nnue/random_terms.h"
#include "tests/support/random_expr.h"

namespace trident::bench {
namespace {

using egraph::ClassId;
using egraph::NodeIndex;
using nnue::naive::Random;

constexpr unsigned kDepth = nnue::kDefaultDepth;
constexpr std::size_t kGroups = 3;
constexpr std::array<std::uint32_t, kGroups> kNodes = {50, 120, 300};
constexpr std::size_t kTermsPerGroup = 30, kMatchesPerTerm = 120;

/// One expression in a graph where nothing is merged: what is extracted is what was put in.
struct Sample {
  expr::Expr source;
  expr::rewrite::RewriteOptions options;
  std::unique_ptr<expr::rewrite::Rules> rules;
  std::unique_ptr<egraph::EGraph> graph;
  egraph::Term term;
  std::vector<NodeIndex> chosen;
  std::vector<nnue::Candidate> matches;
  /// A match whose right side is in the graph: its root's node, and its nodes that the term has not, children first.
  struct Move {
    ClassId root;
    NodeIndex made;
    std::vector<NodeIndex> fresh;
    nnue::Choice then, now;
    std::vector<nnue::Choice> choices;  ///< of fresh
  };
  std::vector<Move> moves;
};

std::unique_ptr<Sample> sample_of(std::uint64_t seed, expr::Expr source) {
  auto s = std::make_unique<Sample>();
  s->source = std::move(source);
  const auto term = expr::rewrite::to_term(s->source);
  if (!term.ok()) return nullptr;
  s->options.policy.kind = expr::PolicyKind::fast;
  s->rules = std::make_unique<expr::rewrite::Rules>(s->source, s->options);
  const egraph::SearchSpace& space = s->rules->space();
  s->graph = std::make_unique<egraph::EGraph>(space.ops, space.semantics, egraph::Limits{});
  s->term = *term;
  // Nodes that no output needs become roots too, so that all of the term is looked at.
  std::vector<bool> used(s->term.nodes.size());
  for (const egraph::ENode& node : s->term.nodes)
    for (std::uint8_t c = 0; c < space.ops[node.op].children; ++c) used[node.child[c]] = true;
  s->term.roots.clear();
  for (std::uint32_t n = 0; n < used.size(); ++n)
    if (!used[n]) s->term.roots.push_back(n);
  const std::vector<ClassId> classes = egraph::add_all(*s->graph, s->term);
  s->graph->rebuild();
  const std::uint32_t size = s->graph->size();
  s->chosen.assign(size, egraph::kNone);
  s->term.origin.assign(classes.begin(), classes.end());
  // Constants may have been folded: of a class the node that the term has.
  for (std::size_t i = 0; i < classes.size(); ++i) s->chosen[s->graph->find(classes[i])] = classes[i];
  egraph::Members members(*s->graph);
  egraph::Matches found;
  egraph::Watch endless;
  std::uint64_t steps = 10'000'000;
  for (ClassId id = 0; id < size; ++id)
    if (s->graph->find(id) == id && s->chosen[id] != egraph::kNone)
      space.matcher->match(members, id, 0, found, steps, endless);
  for (const egraph::Match& m : found.list) {
    nnue::Candidate c{m.rule, m.root, m.node, {}};
    std::copy_n(found.classes.begin() + m.variables, space.matcher->rules()[m.rule].variables.size(),
                c.variables.begin());
    s->matches.push_back(c);
  }
  Random random(static_cast<std::uint32_t>(seed));
  std::shuffle(s->matches.begin(), s->matches.end(), random);
  if (s->matches.size() > kMatchesPerTerm) s->matches.resize(kMatchesPerTerm);
  for (const nnue::Candidate& m : s->matches) {
    const egraph::Pattern& right = space.matcher->rules()[m.rule].right;
    if (right.root().kind != egraph::PatternTerm::Kind::node) continue;
    const NodeIndex made = egraph::instantiate(*s->graph, right, m.variables, s->graph->sort(m.root));
    if (made == egraph::kNone) continue;
    Sample::Move move;
    move.root = m.root, move.made = made;
    bool known = true;
    const auto visit = [&](const auto& self, NodeIndex n, bool top) -> void {
      const egraph::ENode& node = s->graph->node(n);
      for (std::uint8_t c = 0; c < s->graph->row(node.op).children; ++c) {
        const ClassId child = s->graph->find(node.child[c]);
        if (child >= size)
          self(self, child, false);
        else
          known = known && s->chosen[child] != egraph::kNone;
      }
      if (!top && std::find(move.fresh.begin(), move.fresh.end(), n) == move.fresh.end()) move.fresh.push_back(n);
    };
    visit(visit, made, true);
    if (known) s->moves.push_back(std::move(move));
  }
  return s;
}

std::unique_ptr<Sample> sample_of(std::uint64_t seed, std::uint32_t nodes) {
  testing::RandomExprOptions o;
  o.nodes_max = nodes;
  o.outputs_max = 1;
  o.f64 = o.integers = o.reductions = false;
  return sample_of(seed, testing::random_expr(seed, o));
}

/// Expressions that people wrote: "name | ... | s-expression ; comment" per line.
const std::vector<std::unique_ptr<Sample>>& corpus() {
  static const auto made = [] {
    std::vector<std::unique_ptr<Sample>> all;
    std::ifstream file("bench/corpus/rewrite.txt");
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == ';') continue;
      const std::size_t bar = line.rfind('|') + 1;
      const auto source = expr::parse_sexpr(line.substr(bar, line.rfind(';') - bar));
      if (!source.ok()) continue;
      if (auto s = sample_of(all.size() + 1, *source); s != nullptr) all.push_back(std::move(s));
    }
    return all;
  }();
  return made;
}

/// Samples whose terms have about as many nodes as their group says.
const std::array<std::vector<std::unique_ptr<Sample>>, kGroups>& samples() {
  static const auto made = [] {
    std::array<std::vector<std::unique_ptr<Sample>>, kGroups> groups;
    for (std::size_t g = 0; g < kGroups; ++g) {
      for (std::uint64_t seed = 1; groups[g].size() < kTermsPerGroup && seed < 5'000; ++seed) {
        auto s = sample_of(seed, kNodes[g] + static_cast<std::uint32_t>(seed % 3) * kNodes[g] / 4);
        if (s == nullptr || s->matches.size() < 10) continue;
        const auto nodes = static_cast<double>(s->term.nodes.size());
        if (nodes > 0.8 * kNodes[g] && nodes < 1.2 * kNodes[g]) groups[g].push_back(std::move(s));
      }
    }
    return groups;
  }();
  return made;
}

nnue::naive::Term naive_term(const nnue::Incumbent& incumbent, ClassId classes, std::span<const ClassId> roots) {
  nnue::naive::Term term;
  for (ClassId id = 0; id < classes; ++id) term.add(incumbent.knows(id) ? incumbent.choice(id) : nnue::Choice{});
  term.roots.assign(roots.begin(), roots.end());
  return term;
}

/// Rows of random numbers for every feature that the samples have, the most frequent first.
struct Weights {
  nn::PlainWeights plain;
  std::vector<std::uint32_t> place;  ///< per feature
  nn::AccumulatorWeights packed;
};

nnue::Choice choice_of(const egraph::EGraph& graph, NodeIndex n) {
  const egraph::ENode& node = graph.node(n);
  nnue::Choice c{expr::rewrite::node_kinds().of(node), graph.row(node.op).children, {}};
  for (std::uint8_t s = 0; s < c.arity; ++s) c.child[s] = graph.find(node.child[s]);
  return c;
}

const Weights& weights() {
  static const Weights made = [] {
    Weights w;
    std::vector<std::uint64_t> hits(nnue::kFeatures);
    for (const auto* group : {&samples()[0], &samples()[1], &samples()[2], &corpus()}) {
      for (const auto& s : *group) {
        nnue::naive::Term term;
        for (NodeIndex n = 0; n < s->graph->size(); ++n) term.add(choice_of(*s->graph, n));
        for (ClassId id = 0; id < s->chosen.size(); ++id)
          if (s->chosen[id] != egraph::kNone) term.nodes[id].choice = choice_of(*s->graph, s->chosen[id]);
        const auto count = [&] { nnue::naive::each_feature(term, kDepth, [&](std::uint32_t f) { ++hits[f]; }); };
        for (const std::uint32_t root : s->term.roots) term.roots.push_back(s->graph->find(s->term.origin[root]));
        count();
        // The features that rewrites lead to count as well, as they do in a search.
        for (const Sample::Move& move : s->moves) {
          const nnue::Choice now = std::exchange(term.nodes[move.root].choice, choice_of(*s->graph, move.made));
          bool cyclic = false;
          for (std::uint8_t k = 0; k < term.nodes[move.root].choice.arity; ++k)
            cyclic = cyclic || term.reaches(term.nodes[move.root].choice.child[k], move.root);
          if (!cyclic) count();
          term.nodes[move.root].choice = now;
        }
      }
    }
    w.plain = nnue::naive::random_weights(1, kDepth, 1024);
    w.plain.space = nnue::feature_space(expr::rewrite::node_kinds().hash, kDepth);
    w.plain.order = nn::hot_first(hits);
    w.place.assign(nnue::kFeatures, static_cast<std::uint32_t>(w.plain.order.size()));  // a row of zeros
    for (std::uint32_t r = 0; r < w.plain.order.size(); ++r) w.place[w.plain.order[r]] = r;
    std::printf("%zu features are hit\n", w.plain.order.size());
    w.plain.rows.resize(w.plain.order.size() * nn::kLanes);
    Random random(2);
    for (std::size_t i = 0; i < w.plain.rows.size(); i += 4) {
      const std::uint32_t bits = random();
      for (std::size_t b = 0; b < 4; ++b) {
        const auto lane = static_cast<std::int8_t>(bits >> (8 * b));
        w.plain.rows[i + b] = lane == -128 ? std::int8_t{-127} : lane;
      }
    }
    auto packed = nn::AccumulatorWeights::make(w.plain);
    CHECK(packed.ok());
    w.packed = std::move(packed).value();
    return w;
  }();
  return made;
}

/// The accumulator, written out path by path.
bool is_right(const nnue::Incumbent& incumbent, ClassId classes, std::span<const ClassId> roots) {
  std::vector<std::int32_t> sum(weights().plain.bias.begin(), weights().plain.bias.end());
  nnue::naive::each_feature(naive_term(incumbent, classes, roots), kDepth, [&](std::uint32_t f) {
    const std::int8_t* row = weights().packed.rows() + std::size_t{weights().place[f]} * nn::kLanes;
    for (std::size_t l = 0; l < nn::kLanes; ++l) sum[l] += row[l];
  });
  return std::equal(sum.begin(), sum.end(), incumbent.accumulator().lane);
}

double percentile(std::vector<double> values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

/// Time of reading the counter twice.
double counter_ns() {
  std::vector<double> times;
  for (int i = 0; i < 1001; ++i) {
    const std::uint64_t start = os::cycle_counter();
    times.push_back(static_cast<double>(os::cycle_counter() - start) * os::cycle_counter_ns());
  }
  return stats::median(times);
}

struct Updates {
  std::vector<double> first_ns, back_ns, rebuild_ns;
};

struct Follower {
  nnue::Incumbent incumbent{weights().packed, kDepth};
  nnue::Afterstates afterstates;
  std::vector<ClassId> roots;

  explicit Follower(const Sample& s)
      : afterstates(*s.graph, s.rules->space().semantics, expr::rewrite::node_kinds(), incumbent, s.chosen) {
    afterstates.begin(s.term);
    for (const std::uint32_t root : s.term.roots) roots.push_back(s.graph->find(s.term.origin[root]));
  }
};

/// How many features each rewrite changes.
struct Changed {
  std::vector<double> all, no_dearer;
};

/// Leaves the moves that can be accepted, and checks the accumulator after each and after the way back. Appends how
/// many features each changes; false when an answer is wrong.
bool check(Sample& s, Changed& changed) {
  Follower f(s);
  std::vector<Sample::Move> kept;
  for (Sample::Move& move : s.moves) {
    move.then = choice_of(*s.graph, move.made), move.now = f.incumbent.choice(move.root);
    nnue::naive::Term term = naive_term(f.incumbent, s.graph->size(), f.roots);
    for (const NodeIndex n : move.fresh) {
      move.choices.push_back(choice_of(*s.graph, n));
      term.nodes[n].choice = move.choices.back();
    }
    // A right side that needs the node it replaces cannot be chosen.
    bool cyclic = false;
    for (std::uint8_t k = 0; k < move.then.arity; ++k) cyclic = cyclic || term.reaches(move.then.child[k], move.root);
    if (cyclic || move.then == move.now) continue;
    const auto cost = [&](NodeIndex of_root) {
      double sum = 0;
      const std::vector<std::uint32_t> references = term.references();
      for (ClassId id = 0; id < references.size(); ++id) {
        if (references[id] == 0) continue;
        const NodeIndex n = id == move.root ? of_root : id < s.chosen.size() ? s.chosen[id] : id;
        sum += s.options.costs.of(s.graph->node(n));
      }
      return sum;
    };
    nnue::naive::Features features;
    nnue::naive::each_feature(term, kDepth, [&](std::uint32_t feature) { --features[feature]; });
    const double cost_now = cost(s.chosen[move.root]);
    term.nodes[move.root].choice = move.then;
    nnue::naive::each_feature(term, kDepth, [&](std::uint32_t feature) { ++features[feature]; });
    double count = 0;
    for (const auto& [feature, by] : features) count += static_cast<double>(std::abs(by));
    changed.all.push_back(count);
    if (cost(move.made) <= cost_now) changed.no_dearer.push_back(count);
    for (std::size_t n = 0; n < move.fresh.size(); ++n) f.incumbent.choose(move.fresh[n], move.choices[n]);
    f.incumbent.choose(move.root, move.then);
    if (!is_right(f.incumbent, s.graph->size(), f.roots)) return false;
    f.incumbent.choose(move.root, move.now);
    if (!is_right(f.incumbent, s.graph->size(), f.roots)) return false;
    kept.push_back(move);
  }
  s.moves = std::move(kept);
  return true;
}

/// Goes through the moves of one sample twice, each time with an incumbent that knows nothing yet and keeps its memory,
/// as from graph to graph of a search: rows and records of the place are in the cache when a rewrite is accepted there.
/// The second time counts.
bool measure(const Sample& s, double own_ns, Updates& out) {
  bool right = true;
  Follower f(s);
  for (const bool timed : {false, true}) {
    if (timed) f.incumbent.clear(), f.afterstates.begin(s.term);
    const auto ns = [&](std::uint64_t from, std::uint64_t to) {
      return static_cast<double>(to - from) * os::cycle_counter_ns() - own_ns;
    };
    for (std::size_t m = 0; m < s.moves.size(); ++m) {
      const Sample::Move& move = s.moves[m];
      const std::uint64_t start = os::cycle_counter();
      for (std::size_t n = 0; n < move.fresh.size(); ++n) f.incumbent.choose(move.fresh[n], move.choices[n]);
      f.incumbent.choose(move.root, move.then);
      const std::uint64_t there = os::cycle_counter();
      f.incumbent.choose(move.root, move.now);
      const std::uint64_t back = os::cycle_counter();
      if (!timed) continue;
      out.first_ns.push_back(ns(start, there));
      out.back_ns.push_back(ns(there, back));
      if (m % 16 != 0) continue;
      const std::uint64_t from = os::cycle_counter();
      const nn::Accumulator rebuilt = f.incumbent.rebuilt();
      out.rebuild_ns.push_back(ns(from, os::cycle_counter()));
      right = right && std::equal(std::begin(rebuilt.lane), std::end(rebuilt.lane), f.incumbent.accumulator().lane);
    }
  }
  return right;
}

void measure_updates(benchmark::State& state) {
  const double own_ns = counter_ns();
  std::vector<double> all;
  Changed random, written;
  for (std::size_t g = 0; g < kGroups; ++g) {
    Updates timed;
    bool right = true;
    for (const auto& s : samples()[g]) right = right && check(*s, random);
    for (int repeat = 0; repeat < 9; ++repeat)
      for (const auto& s : samples()[g]) right = right && measure(*s, own_ns, timed);
    if (!right || timed.rebuild_ns.empty()) {
      state.SkipWithError("the accumulator is not what the features say");
      ++wrong_answers();
      return;
    }
    all.insert(all.end(), timed.first_ns.begin(), timed.first_ns.end());
    const double update = stats::median(timed.first_ns), rebuild = stats::median(timed.rebuild_ns);
    const std::string size = "about " + std::to_string(kNodes[g]) + " nodes";
    std::printf("%-48s %10.0f   p99 %.0f, the way back %.0f (p99 %.0f), rebuild %.0f\n",
                ("update, " + size + ", ns").c_str(), update, percentile(timed.first_ns, 0.99),
                stats::median(timed.back_ns), percentile(timed.back_ns, 0.99), rebuild);
    print_figure("rebuild / update, " + size, rebuild / update);
  }
  print_figure("update after an accepted rewrite, median ns", stats::median(all));
  bool right = !corpus().empty();
  for (const auto& s : corpus()) right = right && check(*s, written);
  if (!right) {
    state.SkipWithError("bench/corpus/rewrite.txt is not there, or the accumulator is not what the features say");
    ++wrong_answers();
    return;
  }
  const auto show = [](const char* where, const std::vector<double>& features) {
    std::printf("%-48s %10.0f   p90 %.0f, p99 %.0f, of %zu rewrites\n", where, percentile(features, 0.5),
                percentile(features, 0.9), percentile(features, 0.99), features.size());
  };
  show("features changed: random terms, all rules", random.all);
  show("  of these no dearer", random.no_dearer);
  show("features changed: rewrite.txt, all rules", written.all);
  show("  of these no dearer", written.no_dearer);
  print_figure("features changed, random terms, p99", percentile(random.all, 0.99));
  print_figure("features changed, rewrite.txt, p99", percentile(written.all, 0.99));
}

void updates(benchmark::State& state) {
  for (auto _ : state) measure_updates(state);
}

void scores(benchmark::State& state) {
  struct Queue {
    std::unique_ptr<nnue::Incumbent> incumbent;
    std::unique_ptr<nnue::Afterstates> afterstates;
    std::unique_ptr<nnue::Candidates> candidates;
    const Sample* sample;
  };
  std::vector<Queue> queues;
  double matches = 0;
  for (const auto& group : samples()) {
    for (const auto& s : group) {
      Queue q;
      const egraph::SearchSpace& space = s->rules->space();
      q.incumbent = std::make_unique<nnue::Incumbent>(weights().packed, kDepth);
      q.afterstates = std::make_unique<nnue::Afterstates>(*s->graph, space.semantics, expr::rewrite::node_kinds(),
                                                          *q.incumbent, s->chosen);
      q.afterstates->begin(s->term);
      q.candidates = std::make_unique<nnue::Candidates>(space.matcher->rules(), *q.afterstates, *q.incumbent);
      q.sample = s.get();
      queues.push_back(std::move(q));
      matches += static_cast<double>(s->matches.size());
    }
  }
  // One queue at a time, in turns that are shorter than what the scheduler gives: a search has one graph in the cache.
  constexpr int kTurns = 7;
  std::vector<double> cold_ns, first_ns, again_ns;
  for (auto _ : state) {
    for (Queue& q : queues) {
      const auto count = static_cast<double>(q.sample->matches.size());
      for (int turn = 0; turn < kTurns; ++turn) {
        q.candidates->clear();
        const std::uint64_t start = os::cycle_counter();
        q.candidates->add(q.sample->matches, {}, 0);
        const std::uint64_t first = os::cycle_counter();
        q.candidates->rescore_best(q.sample->matches.size());
        const std::uint64_t again = os::cycle_counter();
        const double ns = static_cast<double>(first - start) * os::cycle_counter_ns() / count;
        (turn == 0 ? cold_ns : first_ns).push_back(ns);
        if (turn == 0) continue;
        again_ns.push_back(static_cast<double>(again - first) * os::cycle_counter_ns() / count);
      }
    }
  }
  std::uint64_t scored = 0, built = 0;
  for (const Queue& q : queues) scored += q.candidates->scored(), built += q.candidates->built();
  std::printf(
      "%.0f candidates in %zu terms; %.1f %% of those built have an "
      "afterstate\n",
      matches, queues.size(), 100 * static_cast<double>(scored) / 2 / static_cast<double>(built));
  std::printf("%-48s %10.2f\n", "scoring when another graph was in the cache, M/s", 1000 / stats::median(cold_ns));
  print_figure("first scoring of candidates, M/s", 1000 / stats::median(first_ns));
  print_figure("scoring again from a kept delta, M/s", 1000 / stats::median(again_ns));
}

BENCHMARK(updates)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(scores)->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run_benchmarks(argc, argv);
}
