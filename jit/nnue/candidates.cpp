#include "jit/nnue/candidates.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace trident::nnue {
namespace {

constexpr std::int64_t kScalarMax = 1 << 11;

}  // namespace

void Scalars::set(Scalar scalar, std::int64_t v) {
  value[static_cast<std::size_t>(scalar)] = static_cast<std::int16_t>(std::clamp(v, -kScalarMax, kScalarMax));
}

Candidates::Candidates(std::span<const egraph::Rule> rules, Afterstates& afterstates, Incumbent& incumbent,
                       const Hosts* hosts)
    : rules_(rules), afterstates_(afterstates), incumbent_(incumbent), hosts_(hosts) {
  CHECK(incumbent.weights().bias_rows(nn::HeadKind::guide) >= rules.size());
}

std::uint32_t Candidates::slot() {
  if (free_.empty()) {
    slots_.emplace_back();
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void Candidates::build(Waiting& w) {
  ++built_;
  const Candidate& c = w.candidate;
  w.has_afterstate = afterstates_.build(rules_[c.rule], c.root, c.variables, afterstate_);
  if (!w.has_afterstate) return;
  if (afterstate_.to != egraph::kNone)
    incumbent_.delta_of(afterstate_.from, afterstate_.to, w.delta);
  else
    incumbent_.delta_of(afterstate_.from, afterstate_.overlay, w.delta);
  w.has_afterstate = w.delta.fits;
  const bool in_term = afterstate_.steps == 0;
  w.scalars.set(Scalar::references, incumbent_.references(afterstate_.from));
  w.scalars.set(Scalar::in_term, in_term);
  w.scalars.set(Scalar::steps, afterstate_.steps);
  w.scalars.set(Scalar::regret,
                in_term || hosts_ == nullptr
                    ? 0
                    : std::lround(2 * std::log2(1 + std::min(4 * hosts_->regret(incumbent_.find(c.root)), 65'535.0))));
  w.scalars.set(Scalar::nodes_gained, w.delta.nodes_gained);
  w.scalars.set(Scalar::nodes_made, afterstate_.made);
  w.scalars.set(Scalar::right_side_known, afterstate_.made == 0);
}

// From the deltas that there are.
void Candidates::score(std::span<Entry> entries) {
  const nn::AccumulatorWeights& weights = incumbent_.weights();
  states_.clear();
  which_.clear();
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    Waiting& w = slots_[entries[i].slot];
    w.scored_at = incumbent_.moves();
    entries[i].score = w.prior;
    if (!w.has_afterstate) continue;
    const auto nodes = static_cast<std::int64_t>(incumbent_.nodes()) + w.delta.nodes_gained;
    states_.push_back({&w.delta.vector, weights.bias_row(nn::HeadKind::guide, w.candidate.rule), w.scalars.value.data(),
                       weights.pool(static_cast<std::uint32_t>(std::max<std::int64_t>(nodes, 1)))});
    which_.push_back(i);
  }
  scores_.resize(states_.size());
  simd::kernels().score(scores_.data(), weights.head(nn::HeadKind::guide), incumbent_.accumulator(), states_.data(),
                        states_.size());
  for (std::size_t i = 0; i < which_.size(); ++i) entries[which_[i]].score = scores_[i];
  scored_ += states_.size();
}

void Candidates::add(std::span<const Candidate> matches, const Scalars& context, std::int32_t prior) {
  batch_.clear();
  for (const Candidate& match : matches) {
    const std::uint32_t at = slot();
    Waiting& w = slots_[at];
    w.candidate = match;
    w.scalars = context;
    w.prior = prior;
    build(w);
    batch_.push_back({0, at, sequence_++});
  }
  score(batch_);
  for (const Entry& entry : batch_) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end());
  }
}

std::optional<Candidate> Candidates::take_best() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    Entry& top = heap_.back();
    Waiting& w = slots_[top.slot];
    if (w.scored_at != incumbent_.moves()) {
      if (!w.has_afterstate || !incumbent_.holds(w.delta)) build(w);
      score({&top, 1});
      if (heap_.size() > 1 && top < heap_.front()) {
        std::push_heap(heap_.begin(), heap_.end());
        continue;
      }
    }
    last_score_ = top.score;
    free_.push_back(top.slot);
    heap_.pop_back();
    return w.candidate;
  }
  return std::nullopt;
}

std::optional<Candidate> Candidates::take_any(std::uint64_t draw) {
  if (heap_.empty()) return std::nullopt;
  const std::size_t at = draw % heap_.size();
  const Entry entry = heap_[at];
  last_score_ = entry.score;
  heap_[at] = heap_.back();
  heap_.pop_back();
  std::make_heap(heap_.begin(), heap_.end());
  free_.push_back(entry.slot);
  return slots_[entry.slot].candidate;
}

void Candidates::rescore_best(std::size_t count) {
  // Of many it is less work to begin the heap anew.
  const bool all = count >= heap_.size() / 4;
  batch_.clear();
  if (all) batch_.swap(heap_);
  while (batch_.size() < count && !heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    batch_.push_back(heap_.back());
    heap_.pop_back();
  }
  for (const Entry& entry : batch_) {
    Waiting& w = slots_[entry.slot];
    if (w.scored_at != incumbent_.moves() && (!w.has_afterstate || !incumbent_.holds(w.delta))) build(w);
  }
  score(batch_);
  if (all) {
    batch_.swap(heap_);
    std::make_heap(heap_.begin(), heap_.end());
    return;
  }
  for (const Entry& entry : batch_) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end());
  }
}

void Candidates::clear() {
  for (const Entry& entry : heap_) free_.push_back(entry.slot);
  heap_.clear();
}

}  // namespace trident::nnue
