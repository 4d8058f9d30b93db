// Seeks the points at which a form comes nearest to breaking the policy, beyond those drawn.
//
// Where the output is near zero or a function near a pole, the largest errors come from few points, and thousands of
// points say little about a million. So rare points are sought by subset simulation (Au and Beck, Probabilistic
// Engineering Mechanics 16, 2001), which climbs in levels towards errors that are a greater share of the bound, and
// knows at each level how rare its points are.
//
//   level 0   the points drawn already; the 128th greatest of their shares is the first threshold
//   level l   points drawn on condition that their share exceeds threshold l, by Metropolis chains that start from the
//             points of level l - 1 beyond it. Every level is about eight times as rare as the one before.
//
// The climb ends at a point that breaks the policy, or at levels so rare that a set of a million points has none.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "jit/equiv/draw.h"
#include "jit/equiv/samples.h"
#include "jit/kir/kir.h"
#include "runtime/base/result.h"

namespace trident::equiv {

/// The size of the sets that the policy is about.
inline constexpr double kTailSetPoints = 1e6;

struct TailQuestion {
  const expr::Expr& source;
  const kir::Kernel& kernel;
  std::size_t output = 0;  ///< a float, one value per element
  const Samples& start;    ///< drawn in `way`
  Way way = Way::uniform;
  const std::vector<double>& shares;  ///< at each point of `start`: error as a share of the bound
  expr::Policy policy;
  double set_points = kTailSetPoints;  ///< size of the sets in question
  std::uint64_t seed = 1;
  std::function<bool()> cancelled{};
};

/// The greatest share met, and where.
struct Tail {
  double share = 0;
  double risk = 0;  ///< the greatest of results that are not the source's own (Judge::is_own)
  Point point;
};

/// Climbs. Error Cancelled when told so.
Result<Tail> explore_tail(const TailQuestion& question);

}  // namespace trident::equiv
