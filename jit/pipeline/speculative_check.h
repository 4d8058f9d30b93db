// Checks a speculative image as a whole: guard, driver and both kernels (jit/codegen/speculative.h). Each kernel has
// been checked by itself: the general one everywhere, the fast one inside the assumed ranges. So what is left to ask is
// that every element is what the general kernel gives or, inside the ranges, what the fast one gives (under `exact`:
// what the general one gives), and that the driver counts a miss where an element lies outside, and only there.
//
// The elements lie inside and outside the ranges (speculative_points.h): one outside in each position of a call, with
// every value next to the end of a range; several at a call's first, its last and every kBlockFirst-th element; few and
// many anywhere; all. NaN that may come lies inside: one in each position, and mixed with both. Where a call is one
// kernel's as a whole, all of its answer is: the fast one's where each element and each scalar lies inside, else the
// general one's, and the misses are those of the call. Calls begin and end at the border of what may be touched, and
// write to their inputs' place.
#pragma once

#include <functional>
#include <string>

#include "jit/codegen/speculative.h"
#include "jit/expr/expr.h"
#include "jit/image/image.h"

namespace trident::pipeline {

struct SpeculativeQuestion {
  const expr::Expr& source;    ///< with its declared ranges, without Diff
  const expr::Expr& narrowed;  ///< with the assumed ranges
  const kir::Kernel& fast;     ///< without its guard
  const kir::Kernel& general;
  const image::Mapped& image;
  codegen::Division division{};
  bool whole = false;  ///< a call is one kernel's as a whole
  bool exact = false;  ///< both kernels have the same bits
  std::uint64_t seed = 1;
  std::uint64_t cpu_ns = 2'000'000'000;  ///< of a run over all calls
  std::function<bool()> cancelled{};     ///< asked before each run
};

/// Returns the first fault as a sentence; empty when there is none. Errors: OsError when nothing could be run,
/// Cancelled.
Result<std::string> fault_of_speculative(const SpeculativeQuestion& question);

}  // namespace trident::pipeline
