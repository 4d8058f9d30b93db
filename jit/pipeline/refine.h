// Small steps where large ones are refused: from the cheapest form that holds on, one instance of a rule at a time,
// each step asked about before the next. What few roundings move keeps most of the source's errors, and so its policy.
#pragma once

#include <optional>
#include <span>

#include "jit/equiv/checker.h"
#include "jit/pipeline/second_look.h"
#include "jit/pipeline/tried.h"

namespace trident::pipeline {

struct RefineQuestion {
  const expr::Expr& source;      ///< no Diff
  std::span<const Tried> tried;  ///< its forms, the unrewritten one first
  equiv::Checker& checker;       ///< of the source
  SecondLooks& second_looks;     ///< the same
  const Options& options;
  const PassScope& passes;
};

/// What the steps from the cheapest form that holds lead to; nothing where no step holds, or nothing may be rewritten.
/// Errors: those of the checker, but for Cancelled, which ends the steps.
Result<std::optional<Tried>> refine(const RefineQuestion& question);

}  // namespace trident::pipeline
