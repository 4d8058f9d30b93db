// Small steps where large ones are refused: from the cheapest form that holds on, one instance of a rule at a time,
// each step asked about before the next. What few roundings move keeps most of the source's errors, and so its policy.
#pragma once

#include <optional>

#include "jit/equiv/checker.h"
#include "jit/pipeline/forms.h"

namespace trident::pipeline {

struct Refinement {
  Form form;
  equiv::Checker::Prepared prepared;
};

struct RefineQuestion {
  const expr::Expr& source;                     ///< no Diff
  const expr::Expr& start;                      ///< a form of it that holds
  expr::LowerOptions how;                       ///< of the start
  equiv::Checker& checker;                      ///< of the source
  const kir::Kernel& kernel;                    ///< the source\'s own
  const equiv::Checker::Prepared& unrewritten;  ///< that kernel, by that checker
  const equiv::CheckOptions& check;             ///< that the checker was made with
  const Options& options;
  const PassScope& passes;
};

/// The cheapest form that the steps lead to; nothing where none holds. Errors: those of the checker, but for Cancelled,
/// which ends the steps.
Result<std::optional<Refinement>> refine(const RefineQuestion& question);

}  // namespace trident::pipeline
