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
#include "runtime/stats/robust.h"

namespace trident::pipeline {
namespace {

constexpr std::uint64_t kLengths[] = {16, 256, 1024, 4096, 1'000'000};
/// Rounds, and a limit of CPU time that stops only what is out of all proportion, of short calls and of long ones.
constexpr judge::TimingRules kShortRules = {.rounds = 31, .cpu_ns = 200'000'000};
constexpr judge::TimingRules kLongRules = {.rounds = 5, .cpu_ns = 2'000'000'000};
/// The longest call that is short.
constexpr std::uint64_t kShortLength = 4096;
constexpr int kTriesMax = 3;
/// The distance of elements outside where few are: the fast kernel goes on for a block between two of the general one.
constexpr std::size_t kFewEvery = 2 * codegen::kBlockFirst;

/// Returns a value beside the range that costs no more than others: no NaN, nothing denormal.
equiv::Bits beside(const expr::Variable& v) {
  const bool above = std::isfinite(v.hi);
  const double end = above ? v.hi : v.lo, step = std::max(1.0, std::fabs(end));
  return equiv::bits_of(v.type, above ? end + step : end - step);
}

/// Puts the first of every `every` elements outside, in each variable that has a range only by assumption.
equiv::Samples with_outside(const Rivals& rivals, equiv::Samples points, std::size_t every) {
  for (std::size_t v = 0; v < points.columns.size(); ++v) {
    const expr::Variable &declared = rivals.source.variables[v], &assumed = rivals.narrowed.variables[v];
    if (same_range(declared, assumed)) continue;
    if (declared.is_scalar() && every > 1) continue;
    const equiv::Bits bits = beside(assumed);
    const std::size_t bytes = ir::bytes_of(declared.type);
    for (std::size_t at = 0; at < points.columns[v].size(); at += every * bytes)
      std::memcpy(points.columns[v].data() + at, &bits, bytes);
  }
  return points;
}

/// Returns the time of the speculative kernel over that of the general one, the median of rounds.
Result<double> ratio_once(const Rivals& rivals, const equiv::Samples& points, std::uint64_t elements,
                          double& general_ns) {
  const TimedCall call(rivals.narrowed, points, elements);
  const image::Mapped* const both[] = {&rivals.general, &rivals.speculative};
  const judge::TimingRules& rules = elements > kShortLength ? kLongRules : kShortRules;
  TRY(const judge::Timings timings, judge::time_rounds(both, rivals.signature, call.workload(), rules));
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(timings.ns[0].size(), timings.ns[1].size()); ++i)
    ratios.push_back(timings.ns[1][i] / timings.ns[0][i]);
  if (ratios.empty()) return std::numeric_limits<double>::infinity();
  general_ns = stats::median(timings.ns[0]);
  return stats::median(ratios);
}

/// Does the same, again where it seems to lose: a disturbance only adds.
Result<double> ratio(const Rivals& rivals, const equiv::Samples& points, std::uint64_t elements, double& general_ns) {
  double least = std::numeric_limits<double>::infinity();
  for (int tries = 0; tries < kTriesMax && least > kSpeculationLoss; ++tries) {
    TRY(const double ratio, ratio_once(rivals, points, elements, general_ns));
    least = std::min(least, ratio);
  }
  return least;
}

}  // namespace

std::vector<std::uint64_t> timed_lengths(const Rivals& rivals) {
  std::vector<std::uint64_t> lengths(std::begin(kLengths), std::end(kLengths));
  lengths.push_back(rivals.options.target.elements);
  for (std::uint64_t& n : lengths) n = call_size(rivals.source, rivals.signature, n).elements;
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

Result<double> time_matching(const Rivals& rivals) {
  double unused = 0;
  const std::uint64_t elements = call_size(rivals.source, rivals.signature, rivals.options.target.elements).elements;
  return ratio(rivals, points_to_time(rivals.narrowed, rivals.options.search.seed), elements, unused);
}

Result<SpeculationTime> time_speculative(const Rivals& rivals, std::uint64_t elements) {
  SpeculationTime time{.elements = elements};
  const equiv::Samples inside = points_to_time(rivals.narrowed, rivals.options.search.seed);
  double unused = 0;
  TRY(time.matching, ratio(rivals, inside, elements, time.general_ns));
  TRY(time.missing, ratio(rivals, with_outside(rivals, inside, 1), elements, unused));
  if (elements > kShortLength) return time;  // few outside show nothing more there
  TRY(time.few, ratio(rivals, with_outside(rivals, inside, kFewEvery), elements, unused));
  return time;
}

}  // namespace trident::pipeline
