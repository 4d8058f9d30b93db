#include "jit/pipeline/second_look.h"

namespace trident::pipeline {
namespace {

/// Shares of the bound that are far below it. The checks of other points find up to 13 % more (jit/equiv/checker.cpp).
constexpr double kFarBelow = 0.6;

}  // namespace

Result<equiv::Verdict> SecondLooks::ask(const kir::Kernel& kernel, double risk) {
  equiv::Verdict verdict;
  if (risk <= kFarBelow) return verdict;
  for (std::size_t i = 0; i < kLooks && verdict.same(); ++i) {
    if (!checkers_[i]) {
      equiv::CheckOptions options = check_;
      options.samples.seed = check_.samples.seed + (std::uint64_t{i + 1} << 32);
      TRY(checkers_[i], equiv::Checker::make(source_, policy_, options));
    }
    TRY(equiv::Checker::Prepared prepared, checkers_[i]->check_meaning(kernel, equiv::Demand::any_set, nullptr));
    verdict = std::move(prepared.meaning);
  }
  return verdict;
}

}  // namespace trident::pipeline
