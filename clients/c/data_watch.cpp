#include "clients/c/data_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "jit/kir/kir.h"

namespace trident::client {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
/// Looks at a kernel that learns, and at one with speculative code, are at least this far apart, and at least an eighth
/// of the time that it has been so, up to the last.
constexpr std::uint64_t kLearnNs = 2 * kMs, kWatchNs = 250 * kMs, kApartMaxNs = 10'000 * kMs, kAgeShare = 8;
/// Calls that are enough to learn from, or the time after the first.
constexpr std::uint64_t kCallsEnough = 16, kLearnMaxNs = 100 * kMs, kMeasureMaxNs = 1000 * kMs;
/// Misses that are worth measuring.
constexpr std::uint64_t kMissesMin = 16;
/// Code misses often with one miss in fewer elements. Data that never fit miss once in 32 spans (the driver's longest
/// block, jit/codegen/speculative.h). A miss costs a step and a first block, three spans: one in 128 spans, 2 %.
constexpr std::uint64_t kOftenElements = 128 * kir::kExitSpan;
constexpr std::uint64_t kFewMisses = 3;
constexpr std::uint32_t kWidenedMax = 2;
/// Code for wider ranges comes within this time, or the speculation ends.
constexpr std::uint64_t kAnswerMaxNs = 60'000 * kMs;

bool is_known(const wire::Range& range) {
  return std::isfinite(range.lo) && std::isfinite(range.hi);
}

/// Returns whether code may assume one of the ranges.
bool may_assume(const std::vector<wire::Range>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), is_known);
}

/// Returns whether `more` goes beyond `ranges`; if so, widens these. NaN goes beyond a range that was told without it.
bool widen(std::vector<wire::Range>& ranges, const std::vector<wire::Range>& more) {
  bool wider = false;
  for (std::size_t v = 0; v < std::min(ranges.size(), more.size()); ++v) {
    wider |= more[v].lo < ranges[v].lo || more[v].hi > ranges[v].hi;
    wider |= more[v].or_nan && !ranges[v].or_nan && is_known(ranges[v]);
    ranges[v] = {std::min(ranges[v].lo, more[v].lo), std::max(ranges[v].hi, more[v].hi),
                 ranges[v].or_nan || more[v].or_nan};
  }
  return wider;
}

}  // namespace

DataWatch::DataWatch(const std::vector<expr::Variable>& variables, Submission& submission, Detour* detour,
                     const std::uint64_t& misses, bool learns)
    : seen_(variables), submission_(submission), detour_(detour), misses_(misses) {
  enter(learns ? Phase::learning : Phase::told);
}

void DataWatch::enter(Phase phase) {
  phase_ = phase;
  called_ns_.reset();
  const bool notes = phase == Phase::learning || phase == Phase::measuring;
  if (notes) seen_.clear();
  notes ? submission_.slot.set_detour(detour_) : submission_.slot.end_detour();
}

void DataWatch::enter(Phase phase, std::uint64_t now_ns) {
  since_ns_ = now_ns;
  enter(phase);
}

/// The next look at what has been so since since_ns_.
std::uint64_t DataWatch::later(std::uint64_t now_ns, std::uint64_t least_ns) const {
  return now_ns + std::clamp((now_ns - since_ns_) / kAgeShare, least_ns, kApartMaxNs);
}

std::uint64_t DataWatch::look(std::uint64_t now_ns) {
  if (since_ns_ == 0) since_ns_ = now_ns;
  switch (phase_) {
    case Phase::learning: return learn(now_ns);
    case Phase::told:
    case Phase::watching: return watch(now_ns);
    case Phase::measuring: return measure(now_ns);
    case Phase::over: return kNever;
  }
  return kNever;
}

std::uint64_t DataWatch::learn(std::uint64_t now_ns) {
  if (submission_.observed.empty()) {
    if (seen_.calls() == 0) return later(now_ns, kLearnNs);
    if (!called_ns_) called_ns_ = now_ns;
    if (seen_.calls() < kCallsEnough && now_ns < *called_ns_ + kLearnMaxNs)
      return std::min(later(now_ns, kLearnNs), *called_ns_ + kLearnMaxNs);
    if (!tell_seen()) return kNever;
  }
  enter(Phase::told, now_ns);
  return watch(now_ns);
}

/// Returns false where nothing is to be told.
bool DataWatch::tell_seen() {
  std::vector<wire::Range> ranges = seen_.ranges();
  const bool some = may_assume(ranges);
  if (some)
    tell(std::move(ranges), 0);
  else
    enter(Phase::over);
  return some;
}

std::uint64_t DataWatch::watch(std::uint64_t now_ns) {
  if (!submission_.slot.speculates()) return kNever;  // Context looks anew when it does
  if (submission_.slot.image() == missed_) return wait_for_wider(now_ns);
  const std::uint64_t misses = __atomic_load_n(&misses_, __ATOMIC_RELAXED);
  if (phase_ == Phase::told) {
    enter(Phase::watching, now_ns);
    misses_before_ = misses;
  }
  if (misses - misses_before_ < kMissesMin) return later(now_ns, kWatchNs);
  enter(Phase::measuring);
  misses_before_ = misses;
  return now_ns + kLearnNs;
}

/// Nobody may answer: the daemon that has told it may be gone.
std::uint64_t DataWatch::wait_for_wider(std::uint64_t now_ns) {
  if (now_ns < since_ns_ + kAnswerMaxNs) return since_ns_ + kAnswerMaxNs;
  submission_.slot.leave_speculation();
  enter(Phase::over);
  return kNever;
}

std::uint64_t DataWatch::measure(std::uint64_t now_ns) {
  if (!submission_.slot.speculates()) {
    enter(Phase::told, now_ns);
    return kNever;
  }
  const std::uint64_t calls = seen_.calls(), misses = __atomic_load_n(&misses_, __ATOMIC_RELAXED);
  if (calls == 0) return later(now_ns, kLearnNs);
  if (!called_ns_) called_ns_ = now_ns;
  if (calls < kCallsEnough && now_ns < *called_ns_ + kMeasureMaxNs) return later(now_ns, kLearnNs);
  if (misses - misses_before_ > kFewMisses + seen_.elements() / kOftenElements) {
    tell_wider(now_ns);
    return phase_ == Phase::told ? now_ns + kAnswerMaxNs : kNever;
  }
  enter(Phase::watching);
  misses_before_ = misses;
  return later(now_ns, kWatchNs);
}

/// Tells ranges that hold what was told and what was measured; anything where that is not wider, or came too often.
void DataWatch::tell_wider(std::uint64_t now_ns) {
  std::vector<wire::Range> ranges = submission_.observed;
  const std::uint64_t misses = __atomic_load_n(&misses_, __ATOMIC_RELAXED);
  const bool helps = widen(ranges, seen_.ranges()) && may_assume(ranges) && ++widened_ <= kWidenedMax;
  if (!helps) {
    std::fill(ranges.begin(), ranges.end(), wire::Range{});
    submission_.slot.leave_speculation();
  }
  tell(std::move(ranges), misses);
  missed_ = submission_.slot.image();
  enter(helps ? Phase::told : Phase::over, now_ns);
}

void DataWatch::tell(std::vector<wire::Range> ranges, std::uint64_t misses) {
  submission_.observed = std::move(ranges);
  submission_.observed_misses = misses;
  submission_.observed_told = false;
}

}  // namespace trident::client
