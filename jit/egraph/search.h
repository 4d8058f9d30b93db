// Searches for a cheaper term: rounds of matching, applying and rebuilding, under hard budgets.
//
//   saturate    every match of every round is applied until nothing changes (egg's way)
// pulse       saturate to a small graph, extract, start again from the result
// best_first  as pulse, but the most promising matches go first, and the ranking differs from pulse to pulse
//   random      matches in random order
// hostile     least promising matches first
// guided      a few matches at a time, which a guide (guide.h) picks among all that wait; when that brings no more, as
// pulse, then as best_first, each from the initial term again
//
// Random and hostile are for tests: whatever a guide does, results stay right and budgets hold.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "jit/egraph/egraph.h"
#include "jit/egraph/explain.h"
#include "jit/egraph/extract.h"
#include "jit/egraph/guide.h"
#include "jit/egraph/matcher.h"
#include "jit/egraph/term.h"

namespace trident::egraph {

enum class Strategy : std::uint8_t { saturate, pulse, best_first, random, hostile, guided };

/// Why a search ended. X(name, "meaning").
#define TRIDENT_SEARCH_STOPS(X)                                           \
  X(saturated, "no rule adds anything new")                               \
  X(nodes, "a graph of the largest allowed size brought no further gain") \
  X(bytes, "there was no memory for a larger graph")                      \
  X(time, "the CPU time was used up")                                     \
  X(applications, "the limit of rule applications was reached")           \
  X(cancelled, "the caller cancelled the search")                         \
  X(contradiction, "unequal values became equal, so a rule is wrong and no result is used")

#define X(name, meaning) name,
enum class Stop : std::uint8_t { TRIDENT_SEARCH_STOPS(X) };
#undef X
enum class Objective : std::uint8_t { dag, tree };
std::string_view name_of(Strategy strategy);
std::string_view name_of(Stop stop);
std::string_view meaning_of(Stop stop);

/// Returns the clock of SearchBudget::nanoseconds: CPU time of this thread.
std::uint64_t thread_cpu_ns();

struct SearchBudget {
  std::uint32_t nodes = 5'000;                 ///< of one graph; pulses start new ones
  std::uint64_t nanoseconds = 10'000'000;      ///< from the call; 0: no limit, for runs that must repeat exactly
  std::uint64_t applications = 1'000'000;      ///< of rules, over all graphs
  std::uint64_t graph_nodes = 0;               ///< over all graphs; 0: no limit
  std::size_t bytes = std::size_t{256} << 20;  ///< at a time: graph, matches, extraction, terms
  const std::atomic<bool>* cancelled = nullptr;
};

/// A transformation beyond a pattern: looks at the graph and merges classes that it can show to be equal. `incumbent`
/// has the class of every node of the term that the graph began with. Stops when `watch` is late, with the merges so
/// far.
using Tactic = std::function<void(EGraph& graph, const Term& term, std::span<const ClassId> incumbent, Watch& watch)>;

struct SearchSpace {
  std::span<const OpRow> ops;
  Semantics semantics;
  const Matcher* matcher = nullptr;
  CostModel costs;
  std::vector<Tactic> tactics;
  /// Bit s: rules may match where the root and all variables have such a sort.
  std::uint64_t sorts = ~std::uint64_t{0};
};

struct SearchOptions {
  Strategy strategy = Strategy::best_first;
  Objective objective = Objective::dag;
  SearchBudget budget;
  Guide* guide = nullptr;    ///< of strategy guided, which needs one; borrowed
  bool guide_alone = false;  ///< the search ends where the guide brings no more: for judging the guide
  std::uint64_t seed = 1;
  std::size_t keep = 1;  ///< how many different terms to return
  bool records = false;  ///< they are the best and earlier best ones: the search looks for no others
  bool explain = false;  ///< say how the best term comes from the initial one; takes more memory and time
  /// Called with the first graph and every later one that held a better term, and with that term.
  std::function<void(const EGraph& graph, std::span<const ClassId> roots, const Term& found)> look{};
};

struct SearchStats {
  std::uint64_t nodes = 0, applications = 0, matches = 0, graphs = 0, nanoseconds = 0;
  std::uint64_t nodes_applied = 0;  ///< among `nodes`, those that rules added: not the term's, nor tactics'
  /// Times over all rounds: to look for matches; to order them, add their right sides, merge and rebuild; and, after
  /// each graph, to extract.
  std::uint64_t match_ns = 0, apply_ns = 0, extract_ns = 0;
  std::size_t bytes_max = 0;       ///< the peak of the memory that SearchBudget::bytes bounds
  double bytes_per_node = 0;       ///< memory per node of room, in the graph that took most
  double bytes_per_live_node = 0;  ///< memory per node that is no duplicate
  Stop stop = Stop::saturated;
  /// Adds another search: sums, and the larger bytes_max; `stop` stays.
  void add(const SearchStats& other);
};

/// Returns the rest of a budget for a search that continues: at least one of each, since zero would mean no limit.
[[nodiscard]] SearchBudget rest_of(SearchBudget budget, const SearchStats& spent);

struct SearchResult {
  std::vector<Term> terms;  ///< the best first; never dearer than the initial one, which is among them when nothing is
  SearchStats stats;
  std::vector<Explanation> explanation;  ///< from the initial term to the best, graph by graph
};

SearchResult search(const SearchSpace& space, const Term& initial, const SearchOptions& options);

}  // namespace trident::egraph
