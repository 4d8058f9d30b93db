#include "jit/egraph/search.h"

#include <algorithm>
#include <ctime>
#include <new>
#include <utility>

#include "jit/egraph/graph_run.h"

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
