#include "jit/nnue/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/check.h"

namespace trident::nnue {
namespace {

constexpr std::int64_t kScalarMax = 1 << 11;

}  // namespace

void Scalars::set(Scalar scalar, std::int64_t v) {
  value[static_cast<std::size_t>(scalar)] = static_cast<std::int16_t>(std::clamp(v, -kScalarMax, kScalarMax));
}

Candidates::Candidates(std::span<const egraph::Rule> rules, Afterstates& afterstates, Incumbent& incumbent,
                       const Hosts* hosts, Context context, std::span<const std::uint32_t> rows)
    : rules_(rules),
      afterstates_(afterstates),
      incumbent_(incumbent),
      hosts_(hosts),
      context_(std::move(context)),
      rows_(rows) {
  CHECK(rows.empty() ? incumbent.weights().bias_rows(nn::HeadKind::guide) >= rules.size()
                     : rows.size() == rules.size());
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

void describe(const Afterstate& after, const Delta& delta, const Incumbent& incumbent, double regret, Scalars& out) {
  const bool in_term = after.steps == 0;
  out.set(Scalar::references, incumbent.references(after.from));
  out.set(Scalar::in_term, in_term);
  out.set(Scalar::steps, after.steps);
  out.set(Scalar::regret, in_term ? 0 : std::lround(2 * std::log2(1 + std::min(4 * regret, 65'535.0))));
  out.set(Scalar::nodes_gained, delta.nodes_gained);
  out.set(Scalar::nodes_made, after.made);
  out.set(Scalar::right_side_known, after.made == 0);
}

void Candidates::release(std::uint32_t slot) {
  Waiting& w = slots_[slot];
  if (w.delta != egraph::kNone) free_deltas_.push_back(w.delta);
  w.delta = egraph::kNone;
  free_.push_back(slot);
}

// Fills in the scalars that need no delta.
void Candidates::describe_place(Waiting& w) const {
  const ClassId root = incumbent_.find(w.candidate.root);
  const std::uint32_t references = incumbent_.references(root);
  w.scalars.set(Scalar::references, references);
  w.scalars.set(Scalar::in_term, references > 0);
  if (context_) context_(w.candidate, w.scalars);
}

void Candidates::build(Waiting& w) {
  ++built_;
  if (w.delta == egraph::kNone) {
    if (free_deltas_.empty()) {
      free_deltas_.push_back(static_cast<std::uint32_t>(deltas_.size()));
      deltas_.emplace_back();
    }
    w.delta = free_deltas_.back();
    free_deltas_.pop_back();
  }
  Delta& delta = deltas_[w.delta];
  const Candidate& c = w.candidate;
  w.has_afterstate = afterstates_.build(rules_[c.rule], c.root, c.variables, afterstate_);
  if (!w.has_afterstate) return;
  if (afterstate_.to != egraph::kNone)
    incumbent_.delta_of(afterstate_.from, afterstate_.to, delta);
  else
    incumbent_.delta_of(afterstate_.from, afterstate_.overlay, delta);
  w.has_afterstate = delta.fits;
  if (context_) context_(c, w.scalars);
  describe(afterstate_, delta, incumbent_, hosts_ != nullptr ? hosts_->regret(incumbent_.find(c.root)) : 0, w.scalars);
}

// Computes scores from the known deltas.
void Candidates::score(std::span<Entry> entries) {
  const nn::AccumulatorWeights& weights = incumbent_.weights();
  states_.clear();
  which_.clear();
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    Waiting& w = slots_[entries[i].slot];
    w.scored_at = incumbent_.moves();
    entries[i].score = w.prior;
    const Delta* const delta = w.delta != egraph::kNone ? &deltas_[w.delta] : nullptr;
    if (delta != nullptr && !w.has_afterstate) continue;
    static const nn::NodeVector kNothing{};
    const auto nodes = static_cast<std::int64_t>(incumbent_.nodes()) + (delta != nullptr ? delta->nodes_gained : 0);
    const std::uint32_t row = rows_.empty() ? w.candidate.rule : rows_[w.candidate.rule];
    states_.push_back({delta != nullptr ? &delta->vector : &kNothing, weights.bias_row(nn::HeadKind::guide, row),
                       w.scalars.value.data(),
                       weights.pool(static_cast<std::uint32_t>(std::max<std::int64_t>(nodes, 1)))});
    which_.push_back(i);
  }
  scores_.resize(states_.size());
  simd::kernels().score(scores_.data(), weights.head(nn::HeadKind::guide), incumbent_.accumulator(), states_.data(),
                        states_.size());
  for (std::size_t i = 0; i < which_.size(); ++i) entries[which_[i]].score = scores_[i];
  scored_ += states_.size();
}

void Candidates::add(std::span<const Candidate> matches, const Scalars& context, std::int32_t prior, bool lazily) {
  batch_.clear();
  for (const Candidate& match : matches) {
    const std::uint32_t at = slot();
    Waiting& w = slots_[at];
    w.candidate = match;
    w.scalars = context;
    w.prior = prior;
    if (lazily)
      describe_place(w);
    else
      build(w);
    batch_.push_back({0, at, sequence_++});
  }
  score(batch_);
  for (const Entry& entry : batch_) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end());
  }
}

std::optional<Candidate> Candidates::take_best(std::size_t rescored_max) {
  std::optional<Entry> best;
  for (std::size_t tries = 0; !heap_.empty(); ++tries) {
    std::pop_heap(heap_.begin(), heap_.end());
    Entry top = heap_.back();
    heap_.pop_back();
    Waiting& w = slots_[top.slot];
    const bool built = w.delta != egraph::kNone;
    if (w.scored_at != incumbent_.moves() || !built) {
      if (!built || !w.has_afterstate || !incumbent_.holds(deltas_[w.delta])) build(w);
      score({&top, 1});
    }
    if (best) {
      if (*best < top) std::swap(*best, top);
      heap_.push_back(top);
      std::push_heap(heap_.begin(), heap_.end());
    } else {
      best = top;
    }
    if (heap_.empty() || heap_.front() < *best || tries + 1 >= rescored_max) break;
  }
  if (!best) return std::nullopt;
  last_score_ = best->score;
  release(best->slot);
  return slots_[best->slot].candidate;
}

std::optional<Candidate> Candidates::take_any(std::uint64_t draw) {
  if (heap_.empty()) return std::nullopt;
  const std::size_t at = draw % heap_.size();
  const Entry entry = heap_[at];
  last_score_ = entry.score;
  // Makes it the greatest, and takes it out as such.
  heap_[at].score = std::numeric_limits<std::int32_t>::max();
  heap_[at].sequence = 0;
  std::push_heap(heap_.begin(), heap_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
  release(entry.slot);
  return slots_[entry.slot].candidate;
}

void Candidates::rescore_best(std::size_t count) {
  // For many entries it is less work to rebuild the heap.
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
    if (w.delta == egraph::kNone || w.scored_at == incumbent_.moves()) continue;
    if (!w.has_afterstate || !incumbent_.holds(deltas_[w.delta])) build(w);
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
  for (const Entry& entry : heap_) release(entry.slot);
  heap_.clear();
}

}  // namespace trident::nnue
