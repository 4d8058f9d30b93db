// One graph of a search: it is filled with a term and what the rules make of it, within the budget, and its best terms
// are extracted. What it learns (costs, times, terms) stays for the next graph.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/egraph/incumbents.h"
#include "jit/egraph/match_order.h"
#include "jit/egraph/search.h"
#include "runtime/base/split_mix.h"

namespace trident::egraph {

// Time to extract, per node of a graph, before it was measured.
inline constexpr std::uint64_t kExtractNs = 200;
// Memory per node that extraction always takes.
inline constexpr std::size_t kExtractBytes = 64;

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

}  // namespace trident::egraph
