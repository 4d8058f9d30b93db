#include "jit/pipeline/speculative_times.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "jit/codegen/speculative.h"
#include "jit/equiv/draw.h"
#include "jit/equiv/samples.h"
#include "jit/pipeline/speculate.h"
#include "jit/pipeline/speculative_points.h"
#include "jit/pipeline/timed_call.h"
#include "runtime/os/clock.h"

namespace trident::pipeline {
namespace {

constexpr std::uint64_t kLengths[] = {16, 256, 1024, 4096, 1'000'000};
/// Rounds, and a limit of CPU time that stops only what is out of all proportion, of short calls and of long ones.
constexpr judge::TimingRules kShortRules = {.rounds = 31, .cpu_ns = 200'000'000};
/// A round of long calls takes up to a fifth of a second, so few are made before it is asked whether more are needed.
constexpr judge::TimingRules kLongRules = {.rounds = 2, .cpu_ns = 2'000'000'000};
/// The longest call that is short.
constexpr std::uint64_t kShortLength = 4096;
constexpr int kTriesMax = 8;
/// So many tries that all show a loss this much greater than the greatest that is believed are enough.
constexpr int kTriesOfLosers = 2;
constexpr double kClearLoss = 1.2;
/// Processor time after which a kernel that seems to lose gets no further try.
constexpr std::uint64_t kTriesNs = 1'000'000'000;
/// Where no element fits, the speculative kernel does what the general one does, and more: where it seems to be this
/// much faster, the general one was disturbed.
constexpr double kMissingLeast = 0.9;
/// The distance of elements outside where few are: the fast kernel goes on for a block between two of the general one.
constexpr std::size_t kFewEvery = 2 * codegen::kBlockFirst;

/// Returns a value beside the range that costs no more than others: no NaN, nothing denormal.
equiv::Bits beside(const expr::Variable& v) {
  const bool above = std::isfinite(v.hi);
  const double end = above ? v.hi : v.lo, step = std::max(1.0, std::fabs(end));
  return equiv::bits_of(v.type, above ? end + step : end - step);
}

/// Puts each `every`-th element outside, from number `first` on, in each variable that has a range only by assumption.
equiv::Samples with_outside(const Rivals& rivals, equiv::Samples points, std::size_t every, std::size_t first) {
  for (std::size_t v = 0; v < points.columns.size(); ++v) {
    const expr::Variable &declared = rivals.source.variables[v], &assumed = rivals.narrowed.variables[v];
    if (same_range(declared, assumed)) continue;
    if (declared.is_scalar() && every > 1) continue;
    const equiv::Bits bits = beside(assumed);
    const std::size_t bytes = ir::bytes_of(declared.type);
    for (std::size_t at = first * bytes; at < points.columns[v].size(); at += every * bytes)
      std::memcpy(points.columns[v].data() + at, &bits, bytes);
  }
  return points;
}

/// Data of which few elements of a call do not fit.
equiv::Samples with_few(const Rivals& rivals, const equiv::Samples& points, std::uint64_t elements) {
  if (!rivals.whole) return with_outside(rivals, points, kFewEvery, 0);
  const std::size_t n = points.n;
  return with_outside(rivals, points, n, std::min<std::size_t>(elements, n) - 1);
}

/// Ratios that are believed at once.
struct Believed {
  double most = kSpeculationLoss, least = 0;
  [[nodiscard]] bool holds(double ratio) const { return ratio >= least && ratio <= most; }
  [[nodiscard]] bool clearly_loses(double ratio) const { return ratio > most * kClearLoss; }
};

/// Times both in turn, and again where the ratio is not believed.
Result<LeastTimes> least_times(const Rivals& rivals, const equiv::Samples& points, std::uint64_t elements,
                               const Believed& believed) {
  const TimedCall call(rivals.narrowed, points, elements);
  const image::Mapped* const both[] = {&rivals.general, &rivals.speculative};
  const judge::TimingRules& rules = elements > kShortLength ? kLongRules : kShortRules;
  const std::uint64_t begin_ns = os::thread_work_ns();
  LeastTimes least;
  for (int tries = 0; tries < kTriesMax && !believed.holds(least.ratio()); ++tries) {
    if (os::thread_work_ns() - begin_ns > kTriesNs) break;
    if (tries >= kTriesOfLosers && believed.clearly_loses(least.ratio())) break;
    TRY(const judge::Timings timings, judge::time_rounds(both, rivals.signature, call.workload(), rules));
    least.take(timings);
  }
  return least;
}

Result<double> ratio(const Rivals& rivals, const equiv::Samples& points, std::uint64_t elements,
                     const Believed& believed) {
  TRY(const LeastTimes least, least_times(rivals, points, elements, believed));
  return least.ratio();
}

}  // namespace

std::vector<std::uint64_t> timed_lengths(const expr::Expr& source, const judge::Signature& signature,
                                         std::uint64_t usual_elements) {
  std::vector<std::uint64_t> lengths(std::begin(kLengths), std::end(kLengths));
  lengths.push_back(usual_elements);
  for (std::uint64_t& n : lengths) n = call_size(source, signature, n).elements;
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

void LeastTimes::take(const judge::Timings& timings) {
  for (const double ns : timings.ns[0]) general_ns_ = std::min(general_ns_, ns);
  for (const double ns : timings.ns[1]) speculative_ns_ = std::min(speculative_ns_, ns);
}

double LeastTimes::ratio() const {
  return std::isfinite(general_ns_) ? speculative_ns_ / general_ns_ : std::numeric_limits<double>::infinity();
}

Result<double> time_matching(const Rivals& rivals) {
  const std::uint64_t elements = call_size(rivals.source, rivals.signature, rivals.options.target.elements).elements;
  return ratio(rivals, points_to_time(rivals.narrowed, rivals.options.search.seed), elements, {kSpeculationGain});
}

Result<SpeculationTime> time_speculative(const Rivals& rivals, std::uint64_t elements) {
  SpeculationTime time{.elements = elements};
  const equiv::Samples inside = points_to_time(rivals.narrowed, rivals.options.search.seed);
  TRY(const LeastTimes matching, least_times(rivals, inside, elements, {}));
  time.general_ns = matching.general_ns(), time.matching = matching.ratio();
  TRY(time.missing, ratio(rivals, with_outside(rivals, inside, 1, 0), elements, {.least = kMissingLeast}));
  if (elements > kShortLength) return time;  // few outside show nothing more there
  TRY(time.few, ratio(rivals, with_few(rivals, inside, elements), elements, {kSpeculationLossOfFew}));
  return time;
}

}  // namespace trident::pipeline
