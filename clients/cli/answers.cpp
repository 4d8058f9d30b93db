#include "clients/cli/answers.h"

#include <algorithm>
#include <cstring>

namespace trident::cli {
namespace {

/// A compiler's answer this far off is wrong rather than inaccurate.
constexpr double kWrongFactor = 64, kWrongUlp = 4096;
/// MPFR evaluations per output: every point of a benchmark's workload, if need be.
constexpr std::size_t kRefinedMax = 1u << 16;

std::string describe(const equiv::Counterexample& e) {
  std::string text =
      e.why + ": " + e.output + "[" + std::to_string(e.element) + "] is " + e.got + ", right is " + e.wanted;
  for (const auto& [name, value] : e.inputs) text += ", " + name + " = " + value;
  return text;
}

}  // namespace

Result<std::unique_ptr<AnswerChecker>> AnswerChecker::make(const expr::Expr& expr, const Workload& workload) {
  std::unique_ptr<AnswerChecker> checker(new AnswerChecker(expr));
  equiv::Samples& samples = checker->samples_;
  samples.name = "workload";
  samples.n = workload.n();
  samples.calls = {{0, workload.n(), false}};
  std::size_t array = 0, scalar = 0;
  for (const auto& v : expr.variables) {
    const std::size_t width = ir::bytes_of(v.type);
    std::vector<std::byte> column(samples.n * width);
    if (v.scalar) {
      for (std::uint64_t i = 0; i < samples.n; ++i)
        std::memcpy(column.data() + i * width, &workload.params()[scalar], width);
      ++scalar;
    } else {
      std::memcpy(column.data(), workload.inputs()[array++], column.size());
    }
    samples.columns.push_back(std::move(column));
  }
  TRY(equiv::Reference reference, equiv::Reference::make(expr, samples));
  checker->reference_.emplace(std::move(reference));
  checker->strict_ulp_ = equiv::strict_errors(expr, *checker->reference_, kRefinedMax);
  return checker;
}

double AnswerChecker::strict_ulp() const {
  return strict_ulp_.empty() ? 0 : *std::max_element(strict_ulp_.begin(), strict_ulp_.end());
}

double AnswerChecker::allowed_ulp(const expr::Policy& policy) const {
  switch (policy.kind) {
    case expr::PolicyKind::exact: return strict_ulp() + equiv::kBoundedSlackUlp;
    case expr::PolicyKind::bounded: return policy.k * strict_ulp() + equiv::kBoundedSlackUlp;
    case expr::PolicyKind::fast: return equiv::kFastFactor * strict_ulp() + equiv::kFastSlackUlp;
  }
  CHECK(false);
}

Answer AnswerChecker::compare(const std::vector<std::vector<std::byte>>& outputs, const expr::Policy& policy) {
  std::vector<equiv::Errors> errors(expr_.outputs.size());
  const auto example = equiv::compare_values(expr_, samples_, *reference_, {outputs}, policy, strict_ulp_, errors);
  Answer answer;
  for (const equiv::Errors& e : errors) answer.max_ulp = std::max(answer.max_ulp, e.ours_ulp);
  if (example) answer.wrong = describe(*example);
  return answer;
}

Answer AnswerChecker::ours(const std::vector<std::vector<std::byte>>& outputs, const expr::Policy& policy) {
  if (policy.kind == expr::PolicyKind::exact) return compare(outputs, {expr::PolicyKind::bounded, 1});
  return compare(outputs, policy);
}

Answer AnswerChecker::theirs(const std::vector<std::vector<std::byte>>& outputs) {
  Answer answer = compare(outputs, {expr::PolicyKind::fast, 0});
  if (answer.wrong.empty()) return answer;
  // Beyond what `fast` allows us: how far, exactly?
  constexpr double kAnything = 1e30;
  answer = compare(outputs, {expr::PolicyKind::bounded, kAnything});
  const double allowed = kWrongFactor * strict_ulp() + kWrongUlp;
  if (answer.wrong.empty() && answer.max_ulp > allowed) {
    char why[96];
    std::snprintf(why, sizeof why, "wrong answer: error %.3g ulp, strict evaluation has %.3g", answer.max_ulp,
                  strict_ulp());
    answer.wrong = why;
  }
  return answer;
}

Answer AnswerChecker::same_bits(const std::vector<std::vector<std::byte>>& wanted,
                                const std::vector<std::vector<std::byte>>& got) const {
  Answer answer;
  if (const auto example = equiv::compare_bits(expr_, samples_, samples_.calls, {wanted}, {got}))
    answer.wrong = describe(*example);
  return answer;
}

}  // namespace trident::cli
