// Small steps where large ones are refused: from the cheapest form that holds on, one instance of a rule at a time,
// each step checked before the next at the points drawn, and the last at rarer ones. Few changed roundings keep most of
// the source's errors, and so its policy.
//
// A large expression has too many single steps. Where its form as a whole was refused, the regions that were searched
// (jit/expr/rewrite/regions.h) are put in their new forms by halves, each time with those that were accepted before.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "jit/equiv/checker.h"
#include "jit/pipeline/form_checks.h"
#include "jit/pipeline/tried.h"

namespace trident::pipeline {

struct RefineQuestion {
  const expr::Expr& source;       ///< no Diff
  std::span<const Tried> tried;   ///< its forms, the unrewritten one first
  const equiv::Checker& checker;  ///< for the source
  FormChecks& checks;
  /// Asks whether a form of `tried` holds at rarer points; a form that does not is refused.
  std::function<Result<bool>(std::size_t form)> holds_at_rare_points;
  const Options& options;
  const PassScope& passes;
  /// The greatest time, over that of the form that the steps begin with, that is of use.
  double worth = 1;
  /// Asks whether the last step may be of use, before it is checked at rarer points; empty: it is.
  std::function<Result<bool>(const Tried& last)> may_pay{};
};

/// Refines from the cheapest form that holds and returns the last step that holds at rarer points; none if no step
/// holds, or rewriting is off. If it is refused at other points (form_checks.h), the steps before it stand in for it.
/// Errors: those of the checker, but for Cancelled, which ends the steps.
Result<std::optional<Tried>> refine(const RefineQuestion& question);

}  // namespace trident::pipeline
