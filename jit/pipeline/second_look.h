// Repeats a check at other points: if few points of a million decide, the result is an estimate (jit/equiv/tail.h), and
// one estimate may be luck.
#pragma once

#include <array>
#include <memory>

#include "jit/equiv/checker.h"

namespace trident::pipeline {

class SecondLooks {
 public:
  /// `source` must outlive this; `check` are the options of the first look.
  SecondLooks(const expr::Expr& source, const expr::Policy& policy, const equiv::CheckOptions& check)
      : source_(source), policy_(policy), check_(check) {}

  /// Checks a kernel that held, with errors up to `max_error_ulp`, at all other points; returns at once if its
  /// errors are small: those have no rare peaks. Errors: those of the checker.
  Result<equiv::Verdict> ask(const kir::Kernel& kernel, double max_error_ulp);

 private:
  static constexpr std::size_t kLooks = 3;

  const expr::Expr& source_;
  expr::Policy policy_;
  equiv::CheckOptions check_;
  std::array<std::unique_ptr<equiv::Checker>, kLooks> checkers_;  ///< made when first needed
};

}  // namespace trident::pipeline
