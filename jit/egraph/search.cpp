#include "jit/egraph/search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>
#include <new>
#include <set>
#include <utility>

#include "jit/egraph/match_order.h"
#include "runtime/base/split_mix.h"

namespace trident::egraph {
namespace {

// A pulse ends at this many nodes: most of a larger graph's finds, a smaller one makes in a fraction of the time.
constexpr std::uint32_t kPulseNodes = 1'000;
// It may also end at this multiple of the term that it starts from.
constexpr std::size_t kPulseRoom = 4;
// Pulses without progress before the search looks elsewhere, and before it gives up.
constexpr int kPatience = 2;
constexpr int kPatienceAll = 12;
// Patience before graphs are grown without the guide.
constexpr int kPatienceGuide = 2;
// Terms of more nodes than this are first made smaller by a graph without the guide: the guide takes its time with each
// match, and there are many.
constexpr std::size_t kGuidedNodes = 48;
// Graphs that bring nothing grow by this much.
constexpr std::uint64_t kGrowth = 4;
// Steps of a watch to apply a match.
constexpr std::uint64_t kApplySteps = 10;
constexpr std::size_t kMatchesPerRoom = 16;        // to look for, per node that the graph has room for
constexpr std::uint64_t kStepsPerRound = 400'000;  // of the matching program in one round
// Matches that a guide takes between two rounds of matching, and matches that it is given at once; steps of a watch for
// each.
constexpr std::size_t kTakenPerRound = 32;
constexpr std::size_t kProposedAtOnce = 128;
constexpr std::uint64_t kGuideSteps = 40;
// Time to extract, per node of a graph, before it was measured.
constexpr std::uint64_t kExtractNs = 200;
// Times: to move a node of a full graph, or a number of a full set, to new memory; to free a node's memory; and, per
// node, to begin a round.
constexpr std::uint64_t kMoveNs = 30, kFreeNs = 8, kRoundNs = 10;
// Bytes of large allocations that are freed in a nanosecond.
constexpr std::uint64_t kFreedPerNs = 45;
// Nodes that the matches between two looks at the watch may add.
constexpr std::uint32_t kSpareNodes = Watch::kStepsPerLook;
// Memory per node that extraction always takes.
constexpr std::size_t kExtractBytes = 64;
// Memory of Members per node.
constexpr std::size_t kMemberBytes = sizeof(ENode) + sizeof(NodeIndex) + 9;
// Matches, and their classes, found between two looks at the watch.
constexpr std::size_t kSpareMatches = Watch::kStepsPerLook;

// Moves terms with as many nodes of every op as an earlier one behind the others: mostly they add or multiply in
// another order.
void twins_last(std::vector<Term>& terms) {
  std::set<std::vector<std::uint16_t>> seen;
  std::stable_partition(terms.begin(), terms.end(), [&](const Term& term) {
    std::vector<std::uint16_t> ops;
    for (const ENode& node : term.nodes) ops.push_back(static_cast<std::uint16_t>(node.op << 8 | node.sort));
    std::sort(ops.begin(), ops.end());
    return seen.insert(std::move(ops)).second;
  });
}

// The terms that a search has found so far.
class Incumbents {
 public:
  [[nodiscard]] const Term& best() const { return list_.front().term; }
  [[nodiscard]] double best_cost() const { return list_.front().cost; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  void remember(Term term, double cost) {
    bytes_ += term.nodes.size() * (sizeof(ENode) + sizeof(NodeIndex)) + sizeof(Incumbent);
    list_.push_back({cost, std::move(term)});
  }
  /// Remembers a term that is better than all others.
  void put_first(Term term, double cost) {
    remember(std::move(term), cost);
    std::rotate(list_.begin(), list_.end() - 1, list_.end());
  }
  void keep_initial() {
    const auto initial =
        std::find_if(list_.begin(), list_.end(), [](const Incumbent& i) { return i.term.origin.empty(); });
    list_.assign(1, Incumbent(*initial));
  }
  /// Moves out the best terms, at least one; if there are more than `keep`, not those that are much the same as others.
  std::vector<Term> take(std::size_t keep) {
    std::stable_sort(list_.begin(), list_.end(),
                     [](const Incumbent& a, const Incumbent& b) { return a.cost < b.cost; });
    std::vector<Term> terms;
    for (Incumbent& i : list_) terms.push_back(std::move(i.term));
    if (terms.size() > keep) {
      twins_last(terms);
      terms.resize(std::max<std::size_t>(keep, 1));
    }
    return terms;
  }

 private:
  struct Incumbent {
    double cost;
    Term term;
  };

  std::vector<Incumbent> list_;  ///< the best first, the initial one last of those that were records
  std::size_t bytes_ = 0;
};

// Runs one graph: adds a term, matches and applies rules within the budget, and extracts.
class GraphRun {
 protected:
  GraphRun(const SearchSpace& space, const SearchOptions& options)
      : space_(space),
        options_(options),
        way_(options.strategy),
        random_(options.seed),
        begin_(thread_cpu_ns()),
        order_(space) {}

  [[nodiscard]] bool wants_more() const { return options_.keep > 1 && !options_.records; }
  double cost(const Term& term) const {
    return options_.objective == Objective::dag ? dag_cost(term, space_.ops, space_.costs)
                                                : tree_cost(term, space_.ops, space_.costs);
  }

  // Runs one graph, from `from` to at most `nodes` nodes and the budget left for all graphs. Leaves the results in
  // found_ and record_.
  Stop pulse(const Term& from, std::uint32_t nodes);

  void explain_found(const EGraph& graph, const Term& from, std::span<const ClassId> classes) {
    how_found_ = how_from_;
    auto how_here = explain(graph, space_.semantics, space_.matcher->rules(), from, classes, found_);
    CHECK(how_here);
    how_found_.push_back(std::move(*how_here));
    if (record_) result_.explanation = how_found_;
  }

  // Work that only shows the search to a caller does not count as its time.
  template <class Work>
  void besides(const Work& work) {
    const std::uint64_t t0 = thread_cpu_ns();
    work();
    begin_ += thread_cpu_ns() - t0;
  }

  void take(const EGraph& graph, std::vector<ClassId> roots);

  // Matches at new classes. False when there is no room or time for a round.
  bool begin_round(EGraph& graph, Watch& watch);

  // Matches at new classes and applies some matches. False when there was no new match or the budget ended.
  bool round(EGraph& graph, Watch& watch);

  // False when the budget ended.
  bool apply(EGraph& graph, Watch& watch);

  // Applies one match, whose variables begin at `classes`; false when the graph is full, or the budget ended.
  bool apply(EGraph& graph, RuleIndex index, NodeIndex node, const ClassId* classes);

  // Matches at new classes, gives the matches to the guide, applies some. False when none was applied, or the budget
  // ended.
  bool guided_round(EGraph& graph, Watch& watch);

  // Gives the matches to the guide. False when the budget ended.
  bool propose(const EGraph& graph, Watch& watch);

  // Finds the matches at touched classes and the classes above them; not all where those are too many.
  void find_matches(EGraph& graph, Watch& watch);

  bool right_sorts(const EGraph& graph, const Match& m) const {
    const Rule& rule = space_.matcher->rules()[m.rule];
    if ((graph.sorts_held() & ~space_.sorts) == 0 || rule.typed || rule.mixed) return true;
    const auto right = [&](ClassId id) { return (space_.sorts >> graph.sort(graph.find(id))) & 1; };
    const auto* first = matches_.classes.data() + m.variables;
    return right(m.root) && std::all_of(first, first + space_.matcher->rules()[m.rule].variables.size(), right);
  }

  // Returns whether to apply the match: not if it was applied before, since its result is there already.
  bool is_fresh(const EGraph& graph, const Match& m);

  // Returns whether the deadline passes, or the search is cancelled, before another `after_ns` of work is done.
  bool late(std::uint64_t after_ns);
  // Returns whether the deadline or another budget ends.
  bool over(std::uint64_t after_ns);
  // Also allows for extraction from the graph, and for moving full memory.
  bool over(const EGraph& graph, std::uint64_t after_ns = 0);

  // Memory besides the graph's.
  [[nodiscard]] std::size_t own_bytes() const {
    return matches_.bytes() + members_.bytes() + seen_.bytes() + incumbents_.bytes() + order_.bytes();
  }
  [[nodiscard]] std::size_t memory(const EGraph& graph) const { return graph.bytes() + own_bytes(); }
  // Memory that may be taken until the next look at the watch. While it is moved, old and new exist together.
  [[nodiscard]] std::size_t growing(const EGraph& graph, bool moves) const;
  // Memory left for tactics and extraction.
  [[nodiscard]] std::size_t room_for(const EGraph& graph) const {
    const std::size_t taken = memory(graph) + kExtractBytes * graph.size();
    return options_.budget.bytes - std::min(options_.budget.bytes, taken);
  }

  const SearchSpace& space_;
  const SearchOptions& options_;
  Strategy way_;              // the way in which graphs are filled now
  bool guide_knows_ = false;  // costs and rules
  SplitMix64 random_;
  std::uint64_t begin_;
  std::uint64_t ns_per_node_ = kExtractNs;  // of extraction, as measured
  Members members_;                         // as they are in one round
  Matches matches_;
  MatchOrder order_;
  std::vector<Candidate> proposed_;
  SeenSet seen_;
  Incumbents incumbents_;
  std::size_t graph_bytes_max_ = 0;
  double noise_ = 0;
  Term found_;
  std::vector<Explanation> how_from_, how_found_;  // how a graph's start, and its result, came about
  std::uint64_t matched_at_ns_ = 0;                // thread time at which the round's matches were found
  bool record_ = false, stop_now_ = false, by_guide_ = false;
  Stop stop_ = Stop::saturated;
  SearchResult result_;
};

inline Stop GraphRun::pulse(const Term& from, std::uint32_t nodes) {
  if (const std::uint64_t all = options_.budget.graph_nodes; all != 0)
    nodes = static_cast<std::uint32_t>(std::min<std::uint64_t>(nodes, all - std::min(all, result_.stats.nodes)));
  EGraph graph(space_.ops, space_.semantics, {.nodes_max = nodes, .explain = options_.explain, .unions = by_guide_});
  Watch watch([&] { return over(graph); }, room_for(graph));
  found_ = {};
  record_ = false;
  seen_.clear();
  matches_.clear();
  const std::vector<ClassId> classes = add_all(graph, from, watch);
  if (classes.empty()) return stop_ = watch.late() ? stop_ : Stop::nodes;
  std::vector<ClassId> roots;
  for (const std::uint32_t r : from.roots) roots.push_back(classes[r]);
  graph.rebuild(watch);
  for (const Tactic& tactic : space_.tactics) {
    if (watch.look()) break;
    tactic(graph, from, classes, watch);
    graph.rebuild(watch);
  }
  const bool guided = by_guide_ && !watch.late() && !graph.contradiction();
  if (guided) {
    options_.guide->begin({graph, from, classes, space_.matcher->rules(), space_.costs, space_.semantics, noise_,
                           random_.next(), !std::exchange(guide_knows_, true)});
  }
  Stop how = Stop::saturated;
  while (true) {
    if (graph.contradiction())
      how = Stop::contradiction;
    else if (watch.look())
      how = stop_;
    else if (graph.full())
      how = Stop::nodes;
    else if (!(guided ? guided_round(graph, watch) : round(graph, watch)))
      how = graph.full() ? Stop::nodes : stop_now_ ? stop_ : Stop::saturated;
    else
      continue;
    break;
  }
  stop_ = how;
  result_.stats.nodes += graph.size();
  if (graph.bytes() > graph_bytes_max_) {
    graph_bytes_max_ = graph.bytes();
    result_.stats.bytes_per_node = graph.bytes_per_node();
    result_.stats.bytes_per_live_node = graph.bytes_per_live_node();
  }
  result_.stats.bytes_max = std::max(result_.stats.bytes_max, memory(graph) + watch.held_max());
  if (graph.contradiction()) return stop_ = Stop::contradiction;
  take(graph, roots);
  if (guided) options_.guide->end(found_);
  if (options_.look && !found_.roots.empty() && (record_ || result_.stats.graphs == 0))
    besides([&] { options_.look(graph, roots, found_); });
  if (options_.explain && !found_.roots.empty()) besides([&] { explain_found(graph, from, classes); });
  return how;
}

inline void GraphRun::take(const EGraph& graph, std::vector<ClassId> roots) {
  const std::uint64_t t0 = thread_cpu_ns();
  // Leaves time to free the memory of graph and extraction.
  const Extractor* holder = nullptr;
  const auto ask = [this, &holder, after = kFreeNs * graph.size()] {
    return late(after + (holder != nullptr ? holder->held() / kFreedPerNs : 0));
  };
  Extractor extractor(graph, space_.costs, Watch(ask, room_for(graph)));
  holder = &extractor;
  std::vector<Term> terms;
  if (options_.objective == Objective::tree)
    terms.push_back(extractor.tree(roots));
  else if (wants_more())
    terms = extractor.diverse(roots, options_.keep);
  else
    terms.push_back(extractor.dag(roots));
  const std::uint64_t taken = thread_cpu_ns() - t0;
  result_.stats.extract_ns += taken;
  result_.stats.bytes_max =
      std::max(result_.stats.bytes_max, memory(graph) + kExtractBytes * graph.size() + extractor.held_max());
  ns_per_node_ = std::max(taken / graph.size(), ns_per_node_ / 2);
  for (Term& term : terms) {
    if (term.roots.empty()) continue;
    const double c = cost(term);
    if (found_.roots.empty()) found_ = term;
    if (c < incumbents_.best_cost()) {
      record_ = true;
      incumbents_.put_first(std::move(term), c);
    } else if (wants_more()) {
      incumbents_.remember(std::move(term), c);
    }
  }
}

inline bool GraphRun::begin_round(EGraph& graph, Watch& watch) {
  const std::uint64_t t0 = thread_cpu_ns();
  stop_now_ = false;
  if (over(graph, kRoundNs * graph.size())) return !(stop_now_ = true);
  matches_.clear();
  find_matches(graph, watch);
  result_.stats.matches += matches_.list.size();
  matched_at_ns_ = thread_cpu_ns();
  result_.stats.match_ns += matched_at_ns_ - t0;
  return true;
}

inline bool GraphRun::round(EGraph& graph, Watch& watch) {
  if (!begin_round(graph, watch)) return false;
  const std::uint64_t merges = graph.merges();
  const std::uint32_t size = graph.size();
  if (!order_.order(matches_, way_, noise_, random_, watch) || !apply(graph, watch)) stop_now_ = true;
  if (!graph.rebuild(watch)) stop_now_ = true;
  result_.stats.apply_ns += thread_cpu_ns() - matched_at_ns_;
  result_.stats.nodes_applied += graph.size() - size;
  return !stop_now_ && (graph.merges() != merges || graph.size() != size);
}

inline bool GraphRun::apply(EGraph& graph, Watch& watch) {
  // Matches in this order lie far apart in memory: without prefetching each one waits for it.
  constexpr std::size_t kAhead = 8;
  const std::span<const std::uint32_t> order = order_.list();
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (watch.spend(kApplySteps)) return false;
    if (k + 2 * kAhead < order.size()) __builtin_prefetch(matches_.list.data() + order[k + 2 * kAhead]);
    if (k + kAhead < order.size())
      __builtin_prefetch(matches_.classes.data() + matches_.list[order[k + kAhead]].variables);
    const Match& m = matches_.list[order[k]];
    if (!is_fresh(graph, m)) continue;
    if (!apply(graph, m.rule, m.node, &matches_.classes[m.variables])) break;
  }
  return stop_ != Stop::applications;
}

inline bool GraphRun::apply(EGraph& graph, RuleIndex index, NodeIndex node, const ClassId* classes) {
  const Rule& rule = space_.matcher->rules()[index];
  const std::span<const ClassId> variables(classes, rule.variables.size());
  const NodeIndex made = instantiate(graph, rule.right, variables, graph.sort(graph.find(node)));
  if (made == kNone) return false;
  ++result_.stats.applications;
  graph.merge(node, made, {Reason::Kind::rule, index, variables});
  if (result_.stats.applications < options_.budget.applications) return true;
  stop_ = Stop::applications;
  return false;
}

inline bool GraphRun::guided_round(EGraph& graph, Watch& watch) {
  if (!begin_round(graph, watch)) return false;
  stop_now_ = !propose(graph, watch);
  const std::uint32_t size = graph.size();
  std::size_t taken = 0;
  for (; taken < kTakenPerRound && !stop_now_; ++taken) {
    if (watch.spend(kApplySteps)) stop_now_ = true;
    const std::optional<Candidate> next = options_.guide->take();
    if (!next) break;
    if (!apply(graph, next->rule, next->node, next->variables.data())) stop_now_ = true;
  }
  if (!graph.rebuild(watch)) stop_now_ = true;
  if (!stop_now_) options_.guide->follow();
  result_.stats.apply_ns += thread_cpu_ns() - matched_at_ns_;
  result_.stats.nodes_applied += graph.size() - size;
  return !stop_now_ && taken > 0;
}

inline bool GraphRun::propose(const EGraph& graph, Watch& watch) {
  for (std::size_t i = 0; i < matches_.list.size();) {
    proposed_.clear();
    for (; i < matches_.list.size() && proposed_.size() < kProposedAtOnce; ++i) {
      const Match& m = matches_.list[i];
      if (!is_fresh(graph, m)) continue;
      Candidate& c = proposed_.emplace_back(Candidate{m.rule, m.root, m.node, {}});
      std::copy_n(matches_.classes.begin() + m.variables, space_.matcher->rules()[m.rule].variables.size(),
                  c.variables.begin());
    }
    options_.guide->add(proposed_);
    if (watch.spend(kGuideSteps * proposed_.size())) return false;
  }
  return true;
}

inline void GraphRun::find_matches(EGraph& graph, Watch& watch) {
  std::vector<ClassId> level = graph.take_touched();
  members_.reset(graph);
  std::vector<std::uint8_t> reached(graph.size(), 0);
  for (const ClassId id : level) reached[id] = 1;
  std::uint64_t steps = kStepsPerRound;
  const std::size_t enough = kMatchesPerRoom * (graph.room() + kMatchesPerRoom);
  for (std::uint8_t distance = 0; distance < space_.matcher->depth_max() && !level.empty(); ++distance) {
    std::vector<ClassId> above;
    for (const ClassId id : level) {
      const bool whole = space_.matcher->match(members_, id, distance, matches_, steps, watch);
      if (!whole || matches_.list.size() >= enough) return;
      graph.each_user(id, [&](NodeIndex user) {
        if (watch.spend()) return;
        const ClassId c = graph.find(user);
        if (!reached[c]) reached[c] = 1, above.push_back(c);
      });
    }
    level.swap(above);
  }
}

inline bool GraphRun::is_fresh(const EGraph& graph, const Match& m) {
  if (!right_sorts(graph, m)) return false;
  // The root is mixed in like the variables: classes are small numbers, and a sum or exclusive or of two of them
  // often equals that of two others.
  std::uint64_t key = (m.rule + std::uint64_t{1}) * 0x9E37'79B9'7F4A'7C15u;
  const auto mix = [&key](ClassId id) { key = (key ^ id) * 0xD6E8'FEB8'6659'FD93u, key ^= key >> 32; };
  mix(graph.find(m.root));
  for (std::size_t v = 0; v < space_.matcher->rules()[m.rule].variables.size(); ++v)
    mix(matches_.classes[m.variables + v]);
  return seen_.insert(key);
}

inline bool GraphRun::late(std::uint64_t after_ns) {
  const SearchBudget& budget = options_.budget;
  if (budget.cancelled != nullptr && budget.cancelled->load(std::memory_order_relaxed))
    stop_ = Stop::cancelled;
  else if (budget.nanoseconds != 0 && thread_cpu_ns() - begin_ + after_ns >= budget.nanoseconds)
    stop_ = Stop::time;
  else
    return false;
  return true;
}

inline bool GraphRun::over(std::uint64_t after_ns) {
  const SearchBudget& budget = options_.budget;
  if (result_.stats.applications >= budget.applications)
    stop_ = Stop::applications;
  else if (budget.graph_nodes != 0 && result_.stats.nodes >= budget.graph_nodes)
    stop_ = Stop::nodes;
  else
    return late(after_ns);
  return true;
}

inline bool GraphRun::over(const EGraph& graph, std::uint64_t after_ns) {
  const bool moves = graph.spare() < std::min(kSpareNodes, graph.room());
  after_ns += ns_per_node_ * graph.size() + (moves ? kMoveNs * graph.size() : 0) + seen_.growth() * kMoveNs;
  if (over(after_ns)) return true;
  if (growing(graph, moves) <= options_.budget.bytes) return false;
  stop_ = Stop::bytes;
  return true;
}

inline std::size_t GraphRun::growing(const EGraph& graph, bool moves) const {
  const std::size_t nodes = graph.size(), found = matches_.list.size();
  const auto bytes_of = [](const auto& v) {
    return v.capacity() * sizeof(v[0]) * (v.size() + kSpareMatches > v.capacity() ? 3 : 1);
  };
  return (moves ? graph.bytes() * 9 / 4 : graph.bytes()) + bytes_of(matches_.list) + bytes_of(matches_.classes) +
         std::max(members_.bytes(), std::bit_ceil(nodes) * kMemberBytes) + nodes +
         seen_.bytes() * (seen_.growth() > 0 ? 3 : 1) + incumbents_.bytes() + order_.bytes_for(found) +
         kExtractBytes * (nodes + std::min<std::size_t>(kSpareNodes, graph.room()));
}

// Runs graph after graph, each from the best term so far or from another.
class Search : private GraphRun {
 public:
  Search(const SearchSpace& space, const SearchOptions& options) : GraphRun(space, options) {
    CHECK((options.strategy == Strategy::guided) == (options.guide != nullptr));
  }

  SearchResult run(const Term& initial) {
    incumbents_.remember(initial, cost(initial));
    try {
      if (options_.strategy == Strategy::saturate)
        pulse(initial, options_.budget.nodes);
      else
        pulses(initial);
    } catch (const std::bad_alloc&) {  // the system's memory limit is below ours
      stop_ = Stop::bytes;
    }
    finish();
    return std::move(result_);
  }

 private:
  // A guided search goes three ways in turn, each from the initial term: from one way's result the next would hardly
  // get away. So it finds all that the unguided ways would in the time that the guide leaves them. (A way that is stuck
  // continues from the best result of any.)
  void pulses(const Term& initial);

  // Graphs begin small. They grow, as far as the budget allows, when several small ones bring nothing; when several of
  // full size bring nothing either, this way ends. Returns false when no other way should be tried.
  bool pulses(const Term& initial, Strategy way);

  void finish() {
    if (stop_ == Stop::contradiction) incumbents_.keep_initial();
    result_.terms = incumbents_.take(options_.keep);
    result_.stats.stop = stop_;
    result_.stats.nanoseconds = thread_cpu_ns() - begin_;
  }
};

void Search::pulses(const Term& initial) {
  if (options_.guide == nullptr) {
    pulses(initial, options_.strategy);
    return;
  }
  for (const Strategy way : {Strategy::guided, Strategy::pulse, Strategy::best_first})
    if (!pulses(initial, way) || options_.guide_alone) return;
}

bool Search::pulses(const Term& initial, Strategy way) {
  way_ = way;
  Term from = initial;
  double from_cost = cost(initial), least_cost = from_cost;
  how_from_.clear();
  int without_progress = 0, without_record = 0, fruitless = 0;
  bool cut = false;  // a fruitless graph was not as large as it might have been
  std::uint32_t most = std::min(options_.budget.nodes, 4 * kPulseNodes);
  while (!over(0)) {
    const auto room = static_cast<std::uint32_t>(kPulseRoom * from.nodes.size());
    std::uint32_t nodes = std::min(options_.budget.nodes, std::max(kPulseNodes, room));
    if (without_progress > 0 && without_record % 2 == 1) nodes = std::max(nodes, most);
    noise_ = without_record == 0 ? 0 : 1.0 + 0.5 * without_record;
    const bool too_large = result_.stats.graphs == 0 && from.nodes.size() > kGuidedNodes;
    by_guide_ = way == Strategy::guided && !too_large;
    const Stop how = pulse(from, nodes);
    ++result_.stats.graphs;
    if (how == Stop::contradiction || found_.roots.empty()) return false;
    const double found_cost = cost(found_);
    if (found_cost < from_cost) {
      without_progress = 0;
    } else {
      ++without_progress;
    }
    if (found_cost < least_cost) {
      least_cost = found_cost;
      without_record = fruitless = 0;
      cut = false;
    } else {
      ++without_record, ++fruitless;
      cut = cut || how != Stop::saturated;
      // Without noise the next graph would be identical.
      if (how == Stop::saturated && fruitless > kPatience && way == Strategy::pulse) return true;
    }
    // Where the guide can do no more, every match is applied.
    if (fruitless == kPatienceGuide && way == Strategy::guided) return true;
    if (fruitless == kPatienceAll) {
      stop_ = !cut ? Stop::saturated : how == Stop::bytes ? Stop::bytes : Stop::nodes;
      if (!cut || how == Stop::bytes) return false;
      if (most == options_.budget.nodes) return true;
      most = static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.budget.nodes, kGrowth * std::uint64_t{most}));
      fruitless = 0;
      cut = false;
    }
    const bool back = without_progress > kPatience;
    from = back ? incumbents_.best() : found_;
    how_from_ = back ? result_.explanation : how_found_;
    from_cost = cost(from);
    if (back) without_progress = 0;
  }
  return false;
}

}  // namespace

std::uint64_t thread_cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

std::string_view name_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::saturate: return "saturate";
    case Strategy::pulse: return "pulse";
    case Strategy::best_first: return "best_first";
    case Strategy::random: return "random";
    case Strategy::hostile: return "hostile";
    case Strategy::guided: return "guided";
  }
  return "";
}

namespace {

struct StopRow {
  std::string_view name, meaning;
};
#define X(name, meaning) {#name, meaning},
constexpr StopRow kStops[] = {TRIDENT_SEARCH_STOPS(X)};
#undef X

}  // namespace

std::string_view name_of(Stop stop) {
  return kStops[static_cast<std::size_t>(stop)].name;
}
std::string_view meaning_of(Stop stop) {
  return kStops[static_cast<std::size_t>(stop)].meaning;
}

void SearchStats::add(const SearchStats& other) {
  nodes += other.nodes, applications += other.applications, matches += other.matches, graphs += other.graphs;
  nanoseconds += other.nanoseconds, nodes_applied += other.nodes_applied;
  match_ns += other.match_ns, apply_ns += other.apply_ns, extract_ns += other.extract_ns;
  if (other.bytes_max <= bytes_max) return;
  bytes_max = other.bytes_max;
  bytes_per_node = other.bytes_per_node, bytes_per_live_node = other.bytes_per_live_node;
}

SearchBudget rest_of(SearchBudget budget, const SearchStats& spent) {
  const auto take = [](std::uint64_t& from, std::uint64_t what) {
    if (from != 0) from -= std::min(from - 1, what);
  };
  take(budget.nanoseconds, spent.nanoseconds);
  take(budget.applications, spent.applications);
  take(budget.graph_nodes, spent.nodes);
  return budget;
}

SearchResult search(const SearchSpace& space, const Term& initial, const SearchOptions& options) {
  return Search(space, options).run(initial);
}

}  // namespace trident::egraph
