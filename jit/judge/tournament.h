// Finds the fastest of several equivalent contestants here, if any beats the incumbent. Successive halving: a short
// heat for all, longer ones for the better half, and a final between the best and the incumbent that ends as soon as
// the sequential rule of runtime/stats decides. Ratios are taken round by round, so that a disturbance cancels. The
// winner must beat the incumbent by more than the noise, else the outcome is "no gain".
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "jit/judge/timing.h"

namespace trident::judge {

struct TournamentRules {
  std::uint64_t cpu_ns = 150'000'000;  ///< CPU time for all heats together
  std::uint64_t batch_ns = 10'000;
  double margin = 0.01;               ///< the least gain worth a swap
  std::function<bool()> cancelled{};  ///< asked between heats
  /// Called after each heat: heats held, the most there may be, and the best ratio to the incumbent so far (at most 1).
  std::function<void(std::size_t done, std::size_t total, double best_ratio)> progress{};
};

struct Verdict {
  bool gain = false;
  std::size_t winner = 0;                  ///< the incumbent when there is no gain
  double incumbent_ns = 0, winner_ns = 0;  ///< medians per call, from the last heat in which both ran
  double ratio = 1;                        ///< median of winner / incumbent, round by round
  double noise = 0;                        ///< median absolute deviation of those ratios
  std::vector<double> ratios;              ///< per contestant, from its last heat; infinity when it crashed or hung
  std::vector<os::SandboxEnd> ends;        ///< per contestant
  /// False when the incumbent crashed or hung. The tournament ended there, the rest of this verdict means nothing, and
  /// such a kernel must be replaced.
  [[nodiscard]] bool incumbent_ran() const { return ends[0].kind == os::SandboxEnd::Kind::finished; }
};

/// Holds a tournament; contestants[0] is the incumbent. At least one contestant; all have passed equivalence.
Result<Verdict> hold_tournament(std::span<const Contestant> contestants, const TournamentRules& rules);

/// Holds the tournament between kernels of one signature on one workload; kernels[0] is the incumbent.
Result<Verdict> hold_tournament(std::span<const image::Mapped* const> kernels, const Signature& signature,
                                const Workload& workload, const TournamentRules& rules);

}  // namespace trident::judge
