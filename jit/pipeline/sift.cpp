#include "jit/pipeline/sift.h"

#include <algorithm>
#include <map>

#include "runtime/stats/robust.h"

namespace trident::pipeline {
namespace {

/// So many candidates or fewer are all checked.
constexpr std::size_t kFew = 16;
constexpr std::size_t kFastestOfAll = 12, kFastestOfForm = 2;
constexpr std::uint32_t kRounds = 5;
constexpr std::uint64_t kBatchNs = 5'000;
/// Calls of a kernel in a look: those before the rounds (judge/timing.cpp), and one a round.
constexpr double kCallsOfLook = 4 + kRounds;
constexpr std::uint64_t kElementsMin = 256;

/// Returns the median time of each candidate over the baseline's; 0 where there is none.
std::vector<double> ratios_of(const judge::Timings& timings) {
  std::vector<double> ratios(timings.ns.size());
  if (timings.ns[0].empty()) return ratios;
  const double baseline_ns = stats::median(timings.ns[0]);
  for (std::size_t i = 0; i < ratios.size(); ++i)
    if (!timings.ns[i].empty()) ratios[i] = stats::median(timings.ns[i]) / baseline_ns;
  return ratios;
}

/// Returns the workload with so few elements that a look at `count` kernels like this one takes no more than `cpu_ns`:
/// a look that is cut off before its first round leaves nothing out, and a tournament of hundreds decides nothing.
Result<judge::Workload> short_enough(const image::Mapped& kernel, std::size_t count, const judge::Signature& signature,
                                     judge::Workload workload, std::uint64_t cpu_ns) {
  const image::Mapped* const one[] = {&kernel};
  TRY(const judge::Timings timings, judge::time_rounds(one, signature, workload, {1, 0, cpu_ns}));
  if (timings.ns[0].empty()) return workload;
  const double look_ns = timings.ns[0][0] * kCallsOfLook * static_cast<double>(count);
  const double share = std::min(1.0, static_cast<double>(cpu_ns) / look_ns);
  const auto elements = static_cast<std::uint64_t>(share * static_cast<double>(workload.elements));
  workload.elements = std::min(workload.elements, std::max(elements, kElementsMin));
  return workload;
}

}  // namespace

Result<void> sift(std::span<Candidate> candidates, const judge::Signature& signature, const judge::Workload& workload,
                  std::uint64_t cpu_ns) {
  if (candidates.size() <= kFew) return {};
  std::vector<const image::Mapped*> code;
  for (const Candidate& c : candidates) code.push_back(&c.mapped);
  TRY(const judge::Workload look, short_enough(*code[0], code.size(), signature, workload, cpu_ns));
  TRY(const judge::Timings timings, judge::time_rounds(code, signature, look, {kRounds, kBatchNs, cpu_ns}));
  const std::vector<double> ratios = ratios_of(timings);
  std::vector<std::size_t> order;
  for (std::size_t i = 1; i < candidates.size(); ++i)
    if (ratios[i] > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ratios[a] < ratios[b]; });
  std::map<std::size_t, std::size_t> of_form;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    Candidate& c = candidates[order[rank]];
    c.ratio = ratios[order[rank]];
    c.sifted_out = ++of_form[c.form] > kFastestOfForm && rank >= kFastestOfAll;
  }
  return {};
}

}  // namespace trident::pipeline
