// Small steps where large ones are refused: from the cheapest form that holds on, one instance of a rule at a time,
// each step asked about before the next. What few roundings move keeps most of the source's errors, and so its policy.
#pragma once

#include <optional>

#include "jit/equiv/checker.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/second_look.h"

namespace trident::pipeline {

struct Refinement {
  Form form;
  equiv::Checker::Prepared prepared;
};

struct RefineQuestion {
  const expr::Expr& source;                               ///< no Diff
  const std::vector<Form>& forms;                         ///< of it, the unrewritten one first
  const std::vector<equiv::Checker::Prepared>& prepared;  ///< for each form, by the checker
  equiv::Checker& checker;                                ///< of the source
  SecondLooks& second_looks;                              ///< the same
  const Options& options;
  const PassScope& passes;
};

/// What the steps from the cheapest form that holds lead to; nothing where no step holds, or nothing may be rewritten.
/// Errors: those of the checker, but for Cancelled, which ends the steps.
Result<std::optional<Refinement>> refine(const RefineQuestion& question);

}  // namespace trident::pipeline
