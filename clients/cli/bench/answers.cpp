#include "clients/cli/bench/answers.h"

#include <algorithm>
#include <cstring>

namespace trident::cli {
namespace {

/// A compiler's answer this far off is wrong rather than inaccurate.
constexpr equiv::Allowance kWrong{.units = 1024, .slack_ulp = 4096};
/// MPFR evaluations per output: every point of a benchmark's workload, if need be.
constexpr std::size_t kRefinedMax = 1u << 16;

equiv::Samples samples_of(const expr::Expr& expr, const Workload& workload, const char* name) {
  equiv::Samples samples;
  samples.name = name;
  samples.n = workload.n();
  samples.calls = {{0, workload.n(), false}};
  std::size_t array = 0, scalar = 0;
  for (const auto& v : expr.variables) {
    const std::size_t width = ir::bytes_of(v.type);
    std::vector<std::byte> column(samples.n * width);
    if (v.is_scalar()) {
      for (std::uint64_t i = 0; i < samples.n; ++i)
        std::memcpy(column.data() + i * width, &workload.params()[scalar], width);
      ++scalar;
    } else {
      std::memcpy(column.data(), workload.inputs()[array++], column.size());
    }
    samples.columns.push_back(std::move(column));
  }
  return samples;
}

std::string describe(const equiv::Counterexample& e) {
  std::string text =
      e.why + ": " + e.output + "[" + std::to_string(e.element) + "] is " + e.got + ", right is " + e.wanted;
  for (const auto& [name, value] : e.inputs) text += ", " + name + " = " + value;
  return text;
}

}  // namespace

Result<std::unique_ptr<AnswerChecker>> AnswerChecker::make(const expr::Expr& expr, const Workload& workload) {
  std::unique_ptr<AnswerChecker> checker(new AnswerChecker(expr));
  checker->samples_ = samples_of(expr, workload, "workload");
  TRY(equiv::Reference reference, equiv::Reference::make(expr, checker->samples_, {}, kWrong.units));
  checker->references_.emplace(kWrong.units, std::move(reference));
  return checker;
}

Answer AnswerChecker::compare(const std::vector<std::vector<std::byte>>& outputs, const expr::Policy& policy,
                              const equiv::Allowance& allowance) {
  auto reference = references_.find(allowance.units);
  if (reference == references_.end()) {
    auto made = equiv::Reference::make(expr_, samples_, {}, allowance.units);
    CHECK(made.ok());  // as the first one was
    reference = references_.emplace(allowance.units, std::move(made).value()).first;
  }
  std::vector<equiv::Errors> errors(expr_.outputs.size());
  const auto example = equiv::compare_values(expr_, samples_, reference->second, {outputs}, policy, errors,
                                             {.refined_max = kRefinedMax, .allowance = allowance});
  Answer answer;
  for (const equiv::Errors& e : errors) {
    answer.max_ulp = std::max(answer.max_ulp, e.ulp);
    answer.bound_share = std::max(answer.bound_share, e.share);
  }
  if (example) answer.wrong = describe(*example);
  for (std::size_t k = 0; k < errors.size() && answer.wrong.empty(); ++k) {
    const equiv::Tally& tally = errors[k].tally;
    if (tally.open > 0 && tally.decided * 2 < tally.all())
      answer.wrong = "no judgement: " + equiv::inconclusive(expr_.outputs[k].name, tally).why;
  }
  return answer;
}

Answer AnswerChecker::ours(const std::vector<std::vector<std::byte>>& outputs, const expr::Policy& policy) {
  const expr::Policy judged =
      policy.kind == expr::PolicyKind::exact ? expr::Policy{expr::PolicyKind::bounded, 1} : policy;
  return compare(outputs, judged, equiv::allowance_of(judged));
}

Answer AnswerChecker::theirs(const std::vector<std::vector<std::byte>>& outputs) {
  return compare(outputs, {expr::PolicyKind::fast, 0}, kWrong);
}

Answer AnswerChecker::same_bits(const std::vector<std::vector<std::byte>>& wanted,
                                const std::vector<std::vector<std::byte>>& got) const {
  Answer answer;
  if (const auto example = equiv::compare_bits(expr_, samples_, samples_.calls, {wanted}, {got}))
    answer.wrong = describe(*example);
  return answer;
}

}  // namespace trident::cli
