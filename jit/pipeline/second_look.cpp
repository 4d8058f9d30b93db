#include "jit/pipeline/second_look.h"

namespace trident::pipeline {
namespace {

/// Limit of errors; larger ones come from zeros of the output or poles, where two maxima over a set are of few points.
constexpr double kSteepUlp = 64;

}  // namespace

Result<equiv::Verdict> SecondLooks::ask(const kir::Kernel& kernel, double max_error_ulp) {
  equiv::Verdict verdict;
  if (max_error_ulp <= kSteepUlp) return verdict;
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
