#include "jit/egraph/graph_run.h"

#include <bit>
#include <optional>
#include <utility>

namespace trident::egraph {
namespace {

// Steps of a watch to apply a match.
constexpr std::uint64_t kApplySteps = 10;
constexpr std::size_t kMatchesPerRoom = 16;        // to look for, per node that the graph has room for
constexpr std::uint64_t kStepsPerRound = 400'000;  // of the matching program in one round
// Matches that a guide takes between two rounds of matching, and matches that it is given at once; steps of a watch for
// each.
constexpr std::size_t kTakenPerRound = 32;
constexpr std::size_t kProposedAtOnce = 128;
constexpr std::uint64_t kGuideSteps = 40;
// Times: to move a node of a full graph, or a number of a full set, to new memory; to free a node's memory; and, per
// node, to begin a round.
constexpr std::uint64_t kMoveNs = 30, kFreeNs = 8, kRoundNs = 10;
// Bytes of large allocations that are freed in a nanosecond.
constexpr std::uint64_t kFreedPerNs = 45;
// Nodes that the matches between two looks at the watch may add.
constexpr std::uint32_t kSpareNodes = Watch::kStepsPerLook;
// Memory of Members per node.
constexpr std::size_t kMemberBytes = sizeof(ENode) + sizeof(NodeIndex) + 9;
// Matches, and their classes, found between two looks at the watch.
constexpr std::size_t kSpareMatches = Watch::kStepsPerLook;

}  // namespace

Stop GraphRun::pulse(const Term& from, std::uint32_t nodes) {
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

bool GraphRun::late(std::uint64_t after_ns) {
  const SearchBudget& budget = options_.budget;
  if (budget.cancelled != nullptr && budget.cancelled->load(std::memory_order_relaxed))
    stop_ = Stop::cancelled;
  else if (budget.nanoseconds != 0 && thread_cpu_ns() - begin_ + after_ns >= budget.nanoseconds)
    stop_ = Stop::time;
  else
    return false;
  return true;
}

bool GraphRun::over(std::uint64_t after_ns) {
  const SearchBudget& budget = options_.budget;
  if (result_.stats.applications >= budget.applications)
    stop_ = Stop::applications;
  else if (budget.graph_nodes != 0 && result_.stats.nodes >= budget.graph_nodes)
    stop_ = Stop::nodes;
  else
    return late(after_ns);
  return true;
}

bool GraphRun::over(const EGraph& graph, std::uint64_t after_ns) {
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

}  // namespace trident::egraph
