// Small steps where large ones are refused: from the cheapest form that holds on, one instance of a rule at a time,
// each step checked before the next. Few changed roundings keep most of the source's errors, and so its policy.
//
// A large expression has too many single steps. Where its form as a whole was refused, the regions that were searched
// (jit/expr/rewrite/regions.h) are put in their new forms by halves, each time with those that were accepted before.
#pragma once

#include <optional>
#include <span>

#include "jit/equiv/checker.h"
#include "jit/pipeline/tried.h"

namespace trident::pipeline {

struct RefineQuestion {
  const expr::Expr& source;      ///< no Diff
  std::span<const Tried> tried;  ///< its forms, the unrewritten one first
  equiv::Checker& checker;       ///< for the source
  const Options& options;
  const PassScope& passes;
};

/// Refines from the cheapest form that holds and returns the last step; none if no step holds, or rewriting is off. One
/// of many answers near the limit may be luck, so the step is to be looked at again at other points (second_look.h)
/// before it is used; if it is refused there, the steps before it stand in for it. Errors: those of the checker, but
/// for Cancelled, which ends the steps.
Result<std::optional<Tried>> refine(const RefineQuestion& question);

}  // namespace trident::pipeline
