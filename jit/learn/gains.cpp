#include "jit/learn/gains.h"

#include <algorithm>
#include <cmath>

#include "jit/expr/rewrite/language.h"
#include "jit/expr/rewrite/time_model.h"

namespace trident::learn {
namespace {

namespace rw = expr::rewrite;

constexpr double kGainMost = 2;

std::optional<double> judged(const egraph::Term& term, const expr::Expr& like) {
  const rw::TimeModel* judge = rw::shipped_time_model();
  // A search that leaves parts of its source as they are has outputs, and variables, for these parts.
  if (judge == nullptr || term.roots.size() != like.outputs.size()) return std::nullopt;
  const rw::OpCosts& costs = rw::default_op_costs("avx512");
  const expr::Expr form = rw::to_expr(term, like);
  const auto kernel = expr::lower(
      form, {.policy = {.kind = expr::PolicyKind::fast}, .simplify = false, .accuracy = kir::math::Accuracy::ulp4});
  if (!kernel.ok()) return std::nullopt;
  const auto log_ns = judge->log_ns(form, *kernel, costs.table());
  return log_ns.ok() ? std::optional(*log_ns) : std::nullopt;
}

}  // namespace

std::function<std::optional<double>(const egraph::Term&)> log_cost_by(Gain gain, const expr::Expr& like,
                                                                      const egraph::CostModel& costs) {
  switch (gain) {
    case Gain::none: return {};
    case Gain::by_cost:
      return [costs](const egraph::Term& term) -> std::optional<double> {
        return std::log(egraph::dag_cost(term, rw::op_rows(), costs) + kCostOffset);
      };
    case Gain::by_judge: return [&like](const egraph::Term& term) { return judged(term, like); };
  }
  return {};
}

std::vector<float> weights_of(const GuideSamples& samples) {
  std::vector<float> weights;
  double sum = 0;
  for (const GuideSample& s : samples.samples) {
    weights.push_back(s.needed ? static_cast<float>(1 + std::clamp(double{s.gain}, 0.0, kGainMost)) : 1);
    sum += weights.back();
  }
  const double mean = weights.empty() ? 1 : sum / static_cast<double>(weights.size());
  for (float& w : weights) w = static_cast<float>(w / mean);
  return weights;
}

}  // namespace trident::learn
