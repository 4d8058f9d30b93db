#include "jit/equiv/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/equiv/evaluator.h"

namespace trident::equiv {
namespace {

using expr::Op;
using expr::Type;

constexpr std::size_t kBlock = 64;

// Copies what the evaluator holds for the outputs.
template <class N>
class Collector {
 public:
  Collector(const expr::Expr& expr, std::vector<OutputValues>& outputs) : expr_(expr), outputs_(outputs) {}

  void take(const Evaluator<N>& evaluator, bool per_call, std::size_t count) {
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      OutputValues& out = outputs_[k];
      if (out.per_call != per_call) continue;
      const auto& lanes = evaluator.lanes(expr_.outputs[k].node);
      for (std::size_t i = 0; i < count; ++i) {
        out.unsure.push_back(lanes.unsure[i]);
        if (!ir::is_float(out.type)) {
          out.integer.push_back(lanes.ci[i]);
          continue;
        }
        out.strict.push_back(lanes.s[i]);
        out.correct.push_back(approximate(lanes.c[i]));
        out.error.push_back(error_of(lanes.c[i]));
      }
    }
  }

 private:
  const expr::Expr& expr_;
  std::vector<OutputValues>& outputs_;
};

template <class N>
void evaluate_all(const expr::Expr& expr, const Samples& samples, std::vector<OutputValues>& outputs) {
  Evaluator<N> evaluator(expr, samples, kBlock);
  Collector<N> collector(expr, outputs);
  for (const Call& call : samples.calls) {
    evaluator.run_call(call, [&](std::uint64_t, std::size_t count) { collector.take(evaluator, false, count); });
    collector.take(evaluator, true, 1);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (outputs[k].per_call && ir::is_float(outputs[k].type))
        outputs[k].magnitude.push_back(evaluator.sensitivity(expr.outputs[k].node.index));
  }
}

}  // namespace

long double ulp_at(Type type, long double magnitude) {
  const int bits = type == Type::f32 ? 24 : 53;
  const int least = type == Type::f32 ? -126 : -1022;
  if (magnitude == 0 || !std::isfinite(magnitude)) return std::ldexp(1.0L, least - bits + 1);
  return std::ldexp(1.0L, std::max(std::ilogb(magnitude), least) - bits + 1);
}

// The slow evaluator, made when first needed.
struct Reference::Slow {
  std::unique_ptr<Evaluator<Big>> evaluator;
};

Reference::Reference() = default;
Reference::Reference(Reference&&) noexcept = default;
Reference& Reference::operator=(Reference&&) noexcept = default;
Reference::~Reference() = default;

Result<Reference> Reference::make(const expr::Expr& expr, const Samples& samples) {
  for (const auto& node : expr.nodes)
    if (node.op == Op::Diff)
      return make_error(ErrorCode::kUnsupported, "the reference wants expressions without derivatives");
  const std::vector<expr::Shape> shapes = expr::shapes_of(expr);
  Reference reference;
  reference.expr_ = &expr;
  reference.samples_ = &samples;
  bool wide = false;
  for (const auto& node : expr.nodes) wide = wide || ir::bytes_of(node.type) == 8;
  for (const auto& output : expr.outputs) {
    OutputValues values;
    values.type = expr.at(output.node).type;
    values.per_call = shapes[output.node.index] == expr::Shape::total;
    reference.outputs_.push_back(std::move(values));
  }
  if (wide) {
    evaluate_all<Tracked<long double>>(expr, samples, reference.outputs_);
  } else {
    evaluate_all<Tracked<double>>(expr, samples, reference.outputs_);
  }
  reference.slow_ = std::make_unique<Slow>();
  return reference;
}

void Reference::refine(std::size_t output, std::size_t index) {
  ++refined_;
  OutputValues& out = outputs_[output];
  if (!slow_->evaluator) slow_->evaluator = std::make_unique<Evaluator<Big>>(*expr_, *samples_, std::size_t{1});
  Evaluator<Big>& evaluator = *slow_->evaluator;
  if (out.per_call) {
    evaluator.run_call(samples_->calls[index], [](std::uint64_t, std::size_t) {});
  } else {
    evaluator.run_elements(index, 1);
  }
  const auto& lanes = evaluator.lanes(expr_->outputs[output].node);
  out.unsure[index] = lanes.unsure[0];
  if (!ir::is_float(out.type)) {
    out.integer[index] = lanes.ci[0];
    return;
  }
  out.correct[index] = approximate(lanes.c[0]);
  out.error[index] = 0;
}

}  // namespace trident::equiv
