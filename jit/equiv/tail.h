// Estimates whether another, larger set of points would break the policy.
//
// bounded(k) compares two maxima over the drawn set. Where the output is near zero or a function near a pole, errors
// have no useful bound: both maxima come from a few points of the set, different ones in every set, and thousands of
// points say little about the errors in a million. So the rare points are sought by subset simulation (Au and Beck,
// Probabilistic Engineering Mechanics 16, 2001), which climbs towards greater errors in levels and knows at each how
// rare its points are.
//
//   level 0   the points drawn already; the 128th greatest of their errors is the first threshold
//   level l   points drawn on condition that their error exceeds threshold l, by Metropolis chains that start from the
//             points of level l - 1 beyond it. Every level is about eight times as rare as the one before.
//
// An error here is the greater of ours and the strict evaluation's at the same point. Then random sets of a million
// points are made from the levels, with as many points of each level as such a set would hold. The policy is asked of
// each set: the share that breaks it estimates the probability. The constants set the precision of the estimate; none
// of them says how accurate a kernel must be.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "jit/equiv/draw.h"
#include "jit/equiv/samples.h"
#include "jit/kir/kir.h"
#include "runtime/base/result.h"

namespace trident::equiv {

/// Errors at one point; negative where nothing can be measured.
struct PointErrors {
  double ours_ulp = -1;
  double strict_ulp = -1;
};

/// The size of the sets that the policy is about.
inline constexpr double kTailSetPoints = 1e6;

struct TailQuestion {
  const expr::Expr& source;
  const kir::Kernel& kernel;
  std::size_t output = 0;  ///< a float, one value per element
  const Samples& start;    ///< drawn in `way`
  Way way = Way::uniform;
  const std::vector<PointErrors>& errors;  ///< at each point of `start`
  long double greatest = 0;                ///< of the output's correct values in `start`
  double k = 2, slack_ulp = 2;             ///< the policy: max ours <= k * max strict + slack
  double set_points = kTailSetPoints;      ///< size of the sets in question
  std::uint64_t seed = 1;
  std::function<bool()> cancelled{};
};

struct Tail {
  double probability = 0;  ///< that a set breaks the policy
  double ours_ulp = 0;     ///< greatest errors met on the way
  double strict_ulp = 0;
};

/// Estimates the probability. Error Cancelled when told so.
Result<Tail> explore_tail(const TailQuestion& question);

}  // namespace trident::equiv
