// Repeats a check at other points: if a form comes near to its bound, the points of one check may be luck.
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

  /// Checks a kernel that held, with errors up to `risk` of the bound (Verdict::risk), at all other points; returns at
  /// once if these are far below it. Errors: those of the checker.
  Result<equiv::Verdict> ask(const kir::Kernel& kernel, double risk);

 private:
  static constexpr std::size_t kLooks = 3;

  const expr::Expr& source_;
  expr::Policy policy_;
  equiv::CheckOptions check_;
  std::array<std::unique_ptr<equiv::Checker>, kLooks> checkers_;  ///< made when first needed
};

}  // namespace trident::pipeline
