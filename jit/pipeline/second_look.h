// What few points of a million decide is estimated (jit/equiv/tail.h), and one estimate may be luck: the same question
// at other points.
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

  /// Whether a kernel that held, with errors up to `max_error_ulp`, holds at all points looked at; at once where its
  /// errors are small: those have no rare peaks. Errors: those of the checker.
  Result<equiv::Verdict> ask(const kir::Kernel& kernel, double max_error_ulp);

 private:
  static constexpr std::size_t kLooks = 3;

  const expr::Expr& source_;
  expr::Policy policy_;
  equiv::CheckOptions check_;
  std::array<std::unique_ptr<equiv::Checker>, kLooks> checkers_;  ///< made when first asked
};

}  // namespace trident::pipeline
