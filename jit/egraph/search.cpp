#include "jit/egraph/search.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>
#include <set>

namespace trident::egraph {
namespace {

// A pulse ends at this many nodes: most of what a larger graph finds, a smaller one finds in a fraction of the time.
constexpr std::uint32_t kPulseNodes = 1'000;
// ... or this often the term that it starts from.
constexpr std::size_t kPulseRoom = 4;
// Pulses without progress before the search looks elsewhere, and before it gives up.
constexpr int kPatience = 2;
constexpr int kPatienceAll = 12;
constexpr std::uint64_t kMatchesPerLook = 256;
// Steps of the matching program in one round, and between two looks at the clock.
constexpr std::size_t kMatchesPerRoom = 16;  // that are looked for, per node that the graph has room for
constexpr std::uint64_t kStepsPerRound = 400'000;
constexpr std::uint64_t kStepsPerLook = 2'500;
// Keys by which matches are ordered: gains of a rule beyond the range are as good as at its end.
constexpr std::uint16_t kKeys = 4096;
constexpr double kKeyRange = 200;
// What extraction takes for each node of a graph, before it was measured.
constexpr std::uint64_t kExtractNs = 200;
// What a step of matching takes, before it was measured.
constexpr double kStepNs = 10;

std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

struct SplitMix {
  std::uint64_t state;
  std::uint64_t operator()() {
    std::uint64_t z = (state += 0x9E37'79B9'7F4A'7C15u);
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9u;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EBu;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
};

// Terms with as many nodes of every op as one before them go behind those without such a twin: mostly they add or
// multiply the same in another order.
void twins_last(std::vector<Term>& terms) {
  std::set<std::vector<std::uint16_t>> seen;
  std::stable_partition(terms.begin(), terms.end(), [&](const Term& term) {
    std::vector<std::uint16_t> ops;
    for (const ENode& node : term.nodes) ops.push_back(static_cast<std::uint16_t>(node.op << 8 | node.sort));
    std::sort(ops.begin(), ops.end());
    return seen.insert(std::move(ops)).second;
  });
}

// Numbers seen since the last clear(), which is cheap. Open addressing; zero stands for an empty place. Keeps 32 bits
// of each: of two numbers that share them the second counts as seen, which loses a match now and then.
class SeenSet {
 public:
  SeenSet() : slots_(1u << 12, 0) {}
  void clear() {
    if (used_ > 0) std::fill(slots_.begin(), slots_.end(), 0);
    used_ = 0;
  }
  /// False if it was there.
  bool insert(std::uint64_t number) {
    const auto key = static_cast<std::uint32_t>(number >> 32) | 1u;
    if (used_ * 2 >= slots_.size()) grow();
    const std::size_t at = place(key);
    if (slots_[at] == key) return false;
    slots_[at] = key;
    ++used_;
    return true;
  }

 private:
  [[nodiscard]] std::size_t place(std::uint32_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key >> 1) & mask;
    while (slots_[at] != 0 && slots_[at] != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<std::uint32_t> old(slots_.size() * 2, 0);
    old.swap(slots_);
    for (const std::uint32_t key : old) {
      if (key != 0) slots_[place(key)] = key;
    }
  }
  std::vector<std::uint32_t> slots_;
  std::size_t used_ = 0;
};

class Search {
 public:
  Search(const SearchSpace& space, const SearchOptions& options)
      : space_(space), options_(options), random_{options.seed}, begin_(now_ns()) {
    gains_.reserve(space.matcher->rules().size());
    for (const Rule& rule : space.matcher->rules()) gains_.push_back(cost(rule.left) - cost(rule.right));
  }

  SearchResult run(const Term& initial) {
    incumbents_.push_back(initial);
    best_cost_ = cost(initial);
    if (options_.strategy == Strategy::saturate)
      pulse(initial, options_.budget.nodes);
    else
      pulses(initial);
    finish();
    return std::move(result_);
  }

 private:
  double cost(const Pattern& pattern) const {
    double sum = 0;
    for (const PatternTerm& t : pattern.terms) {
      if (t.kind == PatternTerm::Kind::node) sum += std::min(space_.costs.of({.op = t.op}), 1000.0);
    }
    return sum;
  }
  double cost(const Term& term) const {
    return options_.objective == Objective::dag ? dag_cost(term, space_.ops, space_.costs)
                                                : tree_cost(term, space_.ops, space_.costs);
  }

  void pulses(const Term& initial) {
    Term from = initial;
    double from_cost = best_cost_;
    int without_progress = 0, without_record = 0;
    const std::uint32_t most = std::min(options_.budget.nodes, 4 * kPulseNodes);
    while (!over(0) && without_record < kPatienceAll) {
      const auto room = static_cast<std::uint32_t>(kPulseRoom * from.nodes.size());
      std::uint32_t nodes = std::min(options_.budget.nodes, std::max(kPulseNodes, room));
      if (without_progress > 0 && without_record % 2 == 1) nodes = std::max(nodes, most);
      noise_ = without_record == 0 ? 0 : 1.0 + 0.5 * without_record;
      const Stop how = pulse(from, nodes);
      ++result_.stats.graphs;
      if (how == Stop::contradiction) break;
      if (found_.roots.empty()) break;
      const double found_cost = cost(found_);
      if (found_cost < from_cost) {
        without_progress = 0;
      } else {
        ++without_progress;
      }
      if (record_) {
        without_record = 0;
      } else {
        ++without_record;
        if (how == Stop::saturated && without_record > kPatience && options_.strategy == Strategy::pulse) break;
      }
      const bool back = without_progress > kPatience;
      from = back ? incumbents_.front() : found_;
      how_from_ = back ? result_.explanation : how_found_;
      from_cost = cost(from);
      if (back) without_progress = 0;
    }
  }

  // One graph, from `from` to at most `nodes` nodes; leaves what it found in found_ and record_.
  Stop pulse(const Term& from, std::uint32_t nodes) {
    EGraph graph(space_.ops, space_.semantics, {.nodes_max = nodes, .explain = options_.explain});
    found_ = {};
    record_ = false;
    const std::vector<ClassId> classes = add_all(graph, from);
    if (classes.empty()) return stop_ = Stop::nodes;
    std::vector<ClassId> roots;
    for (const std::uint32_t r : from.roots) roots.push_back(classes[r]);
    graph.rebuild();
    for (const Tactic& tactic : space_.tactics) {
      tactic(graph, from, classes);
      graph.rebuild();
      if (over(graph.size())) break;
    }
    seen_.clear();
    Stop how = Stop::saturated;
    while (true) {
      if (graph.contradiction())
        how = Stop::contradiction;
      else if (over(graph.size()))
        how = stop_;
      else if (graph.bytes() > options_.budget.bytes)
        how = Stop::bytes;
      else if (graph.full())
        how = Stop::nodes;
      else if (!round(graph))
        how = graph.full() ? Stop::nodes : stop_now_ ? stop_ : Stop::saturated;
      else
        continue;
      break;
    }
    stop_ = how;
    graph.rebuild();
    result_.stats.nodes += graph.size();
    if (graph.bytes() > result_.stats.bytes_max) {
      result_.stats.bytes_max = graph.bytes();
      result_.stats.bytes_per_node = graph.bytes_per_node();
    }
    if (graph.contradiction()) return stop_ = Stop::contradiction;
    take(graph, roots);
    if (options_.look && !found_.roots.empty() && (record_ || result_.stats.graphs == 0))
      options_.look(graph, roots, found_);
    if (options_.explain && !found_.roots.empty()) {
      how_found_ = how_from_;
      auto how_here = explain(graph, space_.matcher->rules(), from, classes, found_);
      CHECK(how_here);
      how_found_.push_back(std::move(*how_here));
      if (record_) result_.explanation = how_found_;
    }
    return how;
  }

  void take(const EGraph& graph, std::vector<ClassId> roots) {
    const std::uint64_t t0 = now_ns();
    Extractor extractor(graph, space_.costs, [this] { return over(0); });
    std::vector<Term> terms;
    if (options_.objective == Objective::tree)
      terms.push_back(extractor.tree(roots));
    else if (options_.keep > 1)
      terms = extractor.diverse(roots, options_.keep);
    else
      terms.push_back(extractor.dag(roots));
    const std::uint64_t taken = now_ns() - t0;
    result_.stats.extract_ns += taken;
    ns_per_node_ = std::max(taken / graph.size(), ns_per_node_ / 2);
    for (Term& term : terms) {
      if (term.roots.empty()) continue;
      const double c = cost(term);
      if (found_.roots.empty()) found_ = term;
      if (c < best_cost_) {
        best_cost_ = c;
        record_ = true;
        incumbents_.insert(incumbents_.begin(), std::move(term));
      } else if (options_.keep > 1) {
        incumbents_.push_back(std::move(term));
      }
    }
  }

  // Matches what is new, applies some of it. False when nothing new was found or the budget ended.
  bool round(EGraph& graph) {
    const std::uint64_t t0 = now_ns();
    collect(graph);
    const std::uint64_t t1 = now_ns();
    result_.stats.match_ns += t1 - t0;
    order();
    const std::uint64_t merges = graph.merges();
    const std::uint32_t size = graph.size();
    std::uint64_t count = 0;
    stop_now_ = false;
    const auto& rules = space_.matcher->rules();
    for (const std::uint32_t i : order_) {
      if (++count % kMatchesPerLook == 0 && over(graph.size())) {
        stop_now_ = true;
        break;
      }
      const Match& m = matches_.list[i];
      if (!is_fresh(graph, m)) continue;
      const Rule& rule = rules[m.rule];
      const std::span<const ClassId> variables(&matches_.classes[m.variables], rule.variables.size());
      const NodeIndex made = instantiate(graph, rule.right, variables, graph.sort(graph.find(m.root)));
      if (made == kNone) break;
      ++result_.stats.applications;
      graph.merge(m.node, made, {Reason::Kind::rule, m.rule, variables});
      if (result_.stats.applications >= options_.budget.applications) {
        stop_ = Stop::applications;
        stop_now_ = true;
        break;
      }
    }
    graph.rebuild();
    result_.stats.apply_ns += now_ns() - t1;
    result_.stats.nodes_applied += graph.size() - size;
    return !stop_now_ && (graph.merges() != merges || graph.size() != size);
  }

  void collect(EGraph& graph) {
    matches_.clear();
    find_matches(graph);
    result_.stats.matches += matches_.list.size();
  }

  // What touched classes, and the classes above them, match; not all of it where that would be too much.
  void find_matches(EGraph& graph) {
    std::vector<ClassId> level = graph.take_touched();
    members_.reset(graph);
    std::vector<std::uint8_t> reached(graph.size(), 0);
    for (const ClassId id : level) reached[id] = 1;
    std::uint64_t steps = kStepsPerRound;
    const std::size_t enough = kMatchesPerRoom * (graph.room() + kMatchesPerRoom);
    std::uint64_t taken = 0, affordable = affordable_steps(graph.size());
    for (std::uint8_t distance = 0; distance < space_.matcher->depth_max() && !level.empty(); ++distance) {
      std::vector<ClassId> above;
      for (const ClassId id : level) {
        const std::uint64_t most = std::min(steps, affordable);
        std::uint64_t left = most;
        const bool whole = space_.matcher->match(members_, id, distance, matches_, left);
        steps -= most - left, affordable -= most - left, taken += most - left;
        if (steps == 0 || matches_.list.size() >= enough) return;
        if (taken > kStepsPerLook || !whole) {
          if (over(graph.size())) return;
          learn_step_time(taken);
          affordable = affordable_steps(graph.size());
          taken = 0;
        }
        graph.each_user(id, [&](NodeIndex user) {
          const ClassId c = graph.find(user);
          if (!reached[c]) reached[c] = 1, above.push_back(c);
        });
      }
      level.swap(above);
    }
  }

  // How many steps of matching there is time for, by what they have been seen to take: the steps of one class are not
  // interrupted otherwise. Without a budget of time no clock has a say.
  std::uint64_t affordable_steps(std::uint32_t nodes) {
    if (options_.budget.nanoseconds == 0) return kStepsPerRound;
    step_clock_ = now_ns();
    const std::uint64_t used = step_clock_ - begin_ + ns_per_node_ * nodes;
    const std::uint64_t left = options_.budget.nanoseconds - std::min(options_.budget.nanoseconds, used);
    return std::max(kStepsPerLook, static_cast<std::uint64_t>(static_cast<double>(left) / ns_per_step_));
  }
  void learn_step_time(std::uint64_t steps) {
    if (options_.budget.nanoseconds == 0 || steps < kStepsPerLook / 2) return;
    const double here = static_cast<double>(now_ns() - step_clock_) / static_cast<double>(steps);
    ns_per_step_ = std::max(here, 0.75 * ns_per_step_ + 0.25 * here);
  }

  bool right_sorts(const EGraph& graph, const Match& m) const {
    const Rule& rule = space_.matcher->rules()[m.rule];
    if ((graph.sorts_held() & ~space_.sorts) == 0 || rule.typed || rule.mixed) return true;
    const auto right = [&](ClassId id) { return (space_.sorts >> graph.sort(graph.find(id))) & 1; };
    const auto* first = matches_.classes.data() + m.variables;
    return right(m.root) && std::all_of(first, first + space_.matcher->rules()[m.rule].variables.size(), right);
  }

  // Whether the match is to be applied: not if that was done before, when its result is there already.
  bool is_fresh(const EGraph& graph, const Match& m) {
    if (!right_sorts(graph, m)) return false;
    std::uint64_t key = m.rule * 0x9E37'79B9'7F4A'7C15u + graph.find(m.root);
    for (std::size_t v = 0; v < space_.matcher->rules()[m.rule].variables.size(); ++v)
      key = (key ^ matches_.classes[m.variables + v]) * 0xD6E8'FEB8'6659'FD93u, key ^= key >> 32;
    return seen_.insert(key);
  }

  // The order in which matches are applied: as found, or by what they promise.
  void order() {
    const std::size_t count = matches_.list.size();
    order_.resize(count);
    if (options_.strategy == Strategy::saturate || options_.strategy == Strategy::pulse) {
      std::iota(order_.begin(), order_.end(), 0u);
      return;
    }
    keys_.resize(count);
    for (std::size_t i = 0; i < count; ++i) keys_[i] = key_of(matches_.list[i]);
    // A counting sort, which is stable.
    place_.assign(kKeys + 1, 0);
    for (const std::uint16_t key : keys_) ++place_[key + 1u];
    std::partial_sum(place_.begin(), place_.end(), place_.begin());
    for (std::uint32_t i = 0; i < count; ++i) order_[place_[keys_[i]]++] = i;
  }

  // Small keys come first.
  std::uint16_t key_of(const Match& m) {
    const double gain = gains_[m.rule];
    double key = 0;
    switch (options_.strategy) {
      case Strategy::best_first: key = -gain + noise_ * 20 * random_.unit(); break;
      case Strategy::hostile: key = gain; break;
      case Strategy::random: key = kKeyRange * (2 * random_.unit() - 1); break;
      case Strategy::saturate:
      case Strategy::pulse: break;
    }
    const double share = std::clamp(key / kKeyRange, -1.0, 1.0) * 0.5 + 0.5;
    return static_cast<std::uint16_t>(share * (kKeys - 1));
  }

  // `nodes`: of the graph that is still to be extracted from.
  bool over(std::uint32_t nodes) {
    if (options_.budget.cancelled != nullptr && options_.budget.cancelled->load(std::memory_order_relaxed)) {
      stop_ = Stop::cancelled;
      return true;
    }
    if (result_.stats.applications >= options_.budget.applications) {
      stop_ = Stop::applications;
      return true;
    }
    if (options_.budget.graph_nodes != 0 && result_.stats.nodes >= options_.budget.graph_nodes) {
      stop_ = Stop::nodes;
      return true;
    }
    if (options_.budget.nanoseconds != 0 && now_ns() - begin_ + ns_per_node_ * nodes >= options_.budget.nanoseconds) {
      stop_ = Stop::time;
      return true;
    }
    return false;
  }

  void finish() {
    if (stop_ == Stop::contradiction) incumbents_.assign(1, incumbents_.back());
    std::stable_sort(incumbents_.begin(), incumbents_.end(),
                     [&](const Term& a, const Term& b) { return cost(a) < cost(b); });
    if (incumbents_.size() > options_.keep) {
      twins_last(incumbents_);
      incumbents_.resize(std::max<std::size_t>(options_.keep, 1));
    }
    result_.terms = std::move(incumbents_);
    result_.stats.stop = stop_;
    result_.stats.nanoseconds = now_ns() - begin_;
  }

  const SearchSpace& space_;
  const SearchOptions& options_;
  SplitMix random_;
  std::uint64_t begin_;
  double ns_per_step_ = kStepNs;            // of matching, as it was seen to take
  std::uint64_t step_clock_ = 0;            // when it was looked at last
  std::uint64_t ns_per_node_ = kExtractNs;  // of extraction, as it was seen to take
  std::vector<double> gains_;               // per rule: cost of the left side's ops less the right side's
  Members members_;                         // as they are in one round
  Matches matches_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint16_t> keys_;
  std::vector<std::uint32_t> place_;  // scratch of order()
  SeenSet seen_;
  std::vector<Term> incumbents_;
  double best_cost_ = 0, noise_ = 0;
  Term found_;
  std::vector<Explanation> how_from_, how_found_;  // how what a graph begins with, and what it found, came about
  bool record_ = false, stop_now_ = false;
  Stop stop_ = Stop::saturated;
  SearchResult result_;
};

}  // namespace

std::string_view name_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::saturate: return "saturate";
    case Strategy::pulse: return "pulse";
    case Strategy::best_first: return "best_first";
    case Strategy::random: return "random";
    case Strategy::hostile: return "hostile";
  }
  return "";
}

std::string_view name_of(Stop stop) {
  switch (stop) {
    case Stop::saturated: return "saturated";
    case Stop::nodes: return "nodes";
    case Stop::bytes: return "bytes";
    case Stop::time: return "time";
    case Stop::applications: return "applications";
    case Stop::cancelled: return "cancelled";
    case Stop::contradiction: return "contradiction";
  }
  return "";
}

SearchResult search(const SearchSpace& space, const Term& initial, const SearchOptions& options) {
  return Search(space, options).run(initial);
}

}  // namespace trident::egraph
