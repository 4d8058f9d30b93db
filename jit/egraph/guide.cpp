#include "jit/egraph/guide.h"

#include <algorithm>
#include <utility>

namespace trident::egraph {
namespace {

// xorshift64* (Vigna 2016): enough for an order that is meant to be bad.
std::uint64_t next(std::uint64_t& state) {
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return state * 0x2545'F491'4F6C'DD1Du;
}

bool same(const Candidate& a, const Candidate& b) {
  return a.rule == b.rule && a.root == b.root && a.node == b.node && a.variables == b.variables;
}

}  // namespace

double static_gain(const Rule& rule, const CostModel& costs) {
  constexpr double kMost = 1000;  // cost of a node that must not be chosen
  const auto cost = [&](const Pattern& pattern) {
    double sum = 0;
    for (const PatternTerm& t : pattern.terms)
      if (t.kind == PatternTerm::Kind::node) sum += std::min(costs.of({.op = t.op}), kMost);
    return sum;
  };
  return cost(rule.left) - cost(rule.right);
}

std::optional<Candidate> RandomGuide::take() {
  if (waiting_.empty()) return std::nullopt;
  std::swap(waiting_[next(state_) % waiting_.size()], waiting_.back());
  const Candidate taken = waiting_.back();
  waiting_.pop_back();
  return taken;
}

void StaticGuide::begin(const GuidedGraph& graph) {
  heap_.clear();
  gains_.clear();
  for (const Rule& rule : graph.rules)
    gains_.push_back((order_ == Order::best_first ? 1 : -1) * static_gain(rule, graph.costs));
}
void StaticGuide::add(std::span<const Candidate> matches) {
  for (const Candidate& match : matches) {
    heap_.push_back({gains_[match.rule], sequence_++, match});
    std::push_heap(heap_.begin(), heap_.end());
  }
}
std::optional<Candidate> StaticGuide::take() {
  if (heap_.empty()) return std::nullopt;
  std::pop_heap(heap_.begin(), heap_.end());
  const Candidate taken = heap_.back().candidate;
  heap_.pop_back();
  return taken;
}

void RecordingGuide::begin(const GuidedGraph& graph) {
  added_.clear(), open_.clear();
  taken_.emplace_back();
  guide_.begin(graph);
}
void RecordingGuide::add(std::span<const Candidate> matches) {
  for (const Candidate& match : matches) {
    open_.push_back(static_cast<std::uint32_t>(added_.size()));
    added_.push_back(match);
  }
  guide_.add(matches);
}
std::optional<Candidate> RecordingGuide::take() {
  std::optional<Candidate> taken = guide_.take();
  if (!taken) {
    taken_.back().push_back(kNone);
    return taken;
  }
  const auto at =
      std::find_if(open_.begin(), open_.end(), [&](std::uint32_t number) { return same(added_[number], *taken); });
  CHECK(at != open_.end());  // a guide returns no match that it was not given
  taken_.back().push_back(*at);
  open_.erase(at);
  return taken;
}

std::optional<Candidate> RecordedGuide::take() {
  if (graph_ > taken_.size() || next_ == taken_[graph_ - 1].size()) return std::nullopt;
  const std::uint32_t number = taken_[graph_ - 1][next_++];
  if (number == kNone) return std::nullopt;
  return added_.at(number);
}

}  // namespace trident::egraph
