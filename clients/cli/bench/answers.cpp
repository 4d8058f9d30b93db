#include "clients/cli/bench/answers.h"

#include <algorithm>
#include <cstring>

namespace trident::cli {
namespace {

/// A compiler's answer this far off is wrong rather than inaccurate.
constexpr double kWrongFactor = 64, kWrongUlp = 4096;
/// MPFR evaluations per output: every point of a benchmark's workload, if need be.
constexpr std::size_t kRefinedMax = 1u << 16;
/// The points that a policy's bound is defined over, asked only when an answer exceeds the bound from the workload's.
constexpr std::uint64_t kPolicyPoints = 1'000'000, kPolicySeed = 0x5EED;
constexpr std::size_t kPolicyRefinedMax = 512;

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

Result<std::unique_ptr<AnswerChecker>> AnswerChecker::make(const expr::Expr& expr,
                                                           const std::vector<expr::Variable>& sampled,
                                                           const Workload& workload) {
  std::unique_ptr<AnswerChecker> checker(new AnswerChecker(expr));
  checker->samples_ = samples_of(expr, workload, "workload");
  TRY(equiv::Reference reference, equiv::Reference::make(expr, checker->samples_));
  checker->reference_.emplace(std::move(reference));
  checker->strict_ulp_ = equiv::strict_errors(expr, *checker->reference_, kRefinedMax);
  checker->sampled_ = sampled;
  return checker;
}

/// Measures the strict evaluation on the policy's million points, once. The bound is a multiple of its greatest error,
/// of which the few thousand points of a workload see a part only (71 % at 4,096 in a survey of kernels, at worst 18
/// %).
bool AnswerChecker::widen() {
  if (wide_) return false;
  wide_ = true;
  const Workload workload(expr_, sampled_, kPolicyPoints, kPolicySeed);
  const equiv::Samples samples = samples_of(expr_, workload, "policy");
  auto reference = equiv::Reference::make(expr_, samples);
  if (!reference.ok()) return false;
  const std::vector<double> ulp = equiv::strict_errors(expr_, *reference, kPolicyRefinedMax);
  for (std::size_t k = 0; k < ulp.size(); ++k) strict_ulp_[k] = std::max(strict_ulp_[k], ulp[k]);
  return true;
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
  const Answer answer = compare(outputs, judged);
  // A bound from few points may be too small, never too large: what passes it is right, the rest is asked again.
  return answer.wrong.empty() || !widen() ? answer : compare(outputs, judged);
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
