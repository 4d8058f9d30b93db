#include "jit/expr/rewrite/time_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/language.h"
#include "jit/nnue/feature_list.h"
#include "jit/nnue/shipped_weights.h"
#include "runtime/nn/accumulator/accumulator.h"

namespace trident::expr::rewrite {
namespace {

constexpr double kPerLogarithm = 128, kScalarMax = 1 << 11, kYes = 127;
constexpr double kVectorBytes = 64;
// Time of an fma where no table was measured on this machine: four cycles of latency at 3 GHz, two ports.
constexpr double kFmaLatencyNs = 1.33, kFmaThroughputNs = 0.17;
// Instructions in flight over several iterations: the reorder buffers of processors with AVX-512.
constexpr double kWindow = 512;
// Cost of a load or store, and of the loop's own instructions, in instructions.
constexpr double kPerArray = 1, kPerIteration = 1;

bool in_loop(const kir::Inst& inst) {
  return inst.section == kir::Section::body || kir::info(inst.op).signature == kir::Signature::Reduce;
}

cost::Figures figures_of(const kir::Kernel& kernel, const kir::Inst& inst, const cost::Table& costs) {
  const auto row = cost::row_of(kernel, inst);
  if (!row) return {};
  return {costs.at(*row).latency, costs.throughput(kernel, inst)};
}

}  // namespace

std::int16_t scalar_of_logarithm(double x) {
  return static_cast<std::int16_t>(std::lround(std::clamp(kPerLogarithm * x, -kScalarMax, kScalarMax)));
}

KernelWork work_of(const kir::Kernel& kernel, const cost::Table& costs) {
  KernelWork w;
  std::vector<double> ready(kernel.insts.size());
  std::vector<std::uint32_t> last_use(kernel.insts.size());
  for (std::uint32_t i = 0; i < kernel.insts.size(); ++i)
    for (const kir::Value v : {kernel.insts[i].a, kernel.insts[i].b, kernel.insts[i].c})
      if (v.valid()) last_use[v.index] = i;
  std::vector<std::uint32_t> ends(kernel.insts.size() + 1);
  std::uint32_t live = 0;
  for (std::uint32_t i = 0; i < kernel.insts.size(); ++i) {
    const kir::Inst& inst = kernel.insts[i];
    live -= ends[i];
    if (!in_loop(inst)) {
      w.invariants += inst.section == kir::Section::invariant ? 1 : 0;
      continue;
    }
    const cost::Figures figures = figures_of(kernel, inst, costs);
    for (const kir::Value v : {inst.a, inst.b, inst.c})
      if (v.valid()) ready[i] = std::max(ready[i], ready[v.index]);
    ready[i] += figures.latency;
    w.path = std::max(w.path, ready[i]);
    w.latency += figures.latency;
    w.throughput += figures.throughput;
    ++w.instructions;
    const kir::Signature signature = kir::info(inst.op).signature;
    if (inst.op == kir::Op::Div || inst.op == kir::Op::Sqrt) w.divider += figures.throughput;
    if (signature == kir::Signature::Compare || signature == kir::Signature::Select || ir::is_mask(inst.type))
      ++w.selects;
    if (ir::is_int(inst.type)) ++w.integers;
    if (inst.op == kir::Op::Gather || inst.op == kir::Op::Strided) ++w.gathers;
    w.wide |= ir::bytes_of(inst.type) == 8;
    if (last_use[i] > i) w.live = std::max(w.live, ++live), ++ends[last_use[i]];
  }
  w.inputs = static_cast<std::uint32_t>(kernel.inputs.size());
  w.outputs = static_cast<std::uint32_t>(kernel.outputs.size());
  return w;
}

double static_ns(const KernelWork& work, const cost::Table& costs) {
  const cost::FmaTimes& measured = work.wide ? costs.f64 : costs.f32;
  const double latency_ns = measured.latency_ns > 0 ? measured.latency_ns : kFmaLatencyNs;
  const double throughput_ns = measured.throughput_ns > 0 ? measured.throughput_ns : kFmaThroughputNs;
  const double pipes = (work.throughput + kPerArray * (work.inputs + work.outputs) + kPerIteration) * throughput_ns;
  const double under_way = std::max(1.0, kWindow / (work.instructions + 1.0));
  return std::max(pipes, work.path * latency_ns / under_way) / (kVectorBytes / (work.wide ? 8 : 4));
}

TimeScalars scalars_of(const KernelWork& work, const cost::Table& costs, std::uint32_t nodes) {
  TimeScalars scalars{};
  const auto set = [&](TimeScalar s, double logarithm) {
    scalars[static_cast<std::size_t>(s)] = scalar_of_logarithm(logarithm);
  };
  // An empty kernel counts as a tenth of an fma, so that a kernel that only copies has a logarithm too.
  constexpr double kLeast = 0.1;
  const double throughput = std::max(work.throughput, kLeast), path = std::max(work.path, kLeast);
  set(TimeScalar::nodes, std::log(std::max(nodes, 1u)));
  set(TimeScalar::throughput, std::log(throughput));
  set(TimeScalar::latency, std::log(std::max(work.latency, kLeast)));
  set(TimeScalar::path, std::log(path));
  set(TimeScalar::slack, std::log(path / throughput));
  set(TimeScalar::divisions, std::log1p(work.divider));
  set(TimeScalar::selects, std::log1p(work.selects));
  set(TimeScalar::constants, std::log1p(work.invariants));
  set(TimeScalar::variables, std::log1p(work.inputs));
  set(TimeScalar::outputs, std::log1p(work.outputs));
  set(TimeScalar::live, std::log1p(work.live));
  set(TimeScalar::integers, std::log1p(work.integers));
  set(TimeScalar::instructions, std::log(std::max(work.instructions, 1u)));
  set(TimeScalar::static_guess, std::log(static_ns(work, costs)));
  scalars[static_cast<std::size_t>(TimeScalar::wide)] = static_cast<std::int16_t>(work.wide ? kYes : 0);
  set(TimeScalar::tables, std::log1p(work.gathers));
  return scalars;
}

double base_of(const nn::LinearGuess* base, const TimeScalars& scalars) {
  if (base == nullptr) return scalars[static_cast<std::size_t>(TimeScalar::static_guess)] / kPerLogarithm;
  double sum = base->constant;
  for (std::size_t k = 0; k < scalars.size(); ++k) sum += base->per_scalar[k] * (scalars[k] / kPerLogarithm);
  return sum;
}

Result<double> TimeModel::log_ns(const Expr& expr, const kir::Kernel& kernel, const cost::Table& costs) const {
  TRY(const egraph::Term term, to_term(expr));
  const nnue::FeatureList features = nnue::features_of(term, op_rows(), node_kinds());
  const KernelWork work = work_of(kernel, costs);
  const TimeScalars scalars = scalars_of(work, costs, features.nodes);
  return log_ns(features.list, features.nodes, scalars);
}

double TimeModel::log_ns(std::span<const std::uint32_t> features, std::uint32_t nodes,
                         const TimeScalars& scalars) const {
  nn::Movement movement(weights_);
  movement.add_all(features.size(), [&](std::size_t i) { return features[i]; });
  nn::Accumulator accumulator = weights_.bias();
  movement.apply(accumulator);
  alignas(32) const TimeScalars in_place = scalars;
  const simd::Afterstate state{nullptr, weights_.bias_row(nn::HeadKind::judge, 0), in_place.data(),
                               weights_.pool(nodes)};
  std::int32_t score = 0;
  simd::kernels().score(&score, weights_.head(nn::HeadKind::judge), accumulator, &state, 1);
  return base_of(weights_.linear_guess(), scalars) + double{weights_.judge_unit()} * score;
}

double TimeModel::margin() const {
  return weights_.linear_guess() != nullptr ? double{weights_.linear_guess()->margin} : 0;
}

const TimeModel* shipped_time_model() {
  static const Result<nn::AccumulatorWeights> weights =
      nn::AccumulatorWeights::view(nnue::shipped_judge(), nnue::feature_space(node_kinds().hash, nnue::kDefaultDepth));
  if (!weights.ok() || !(weights->judge_unit() > 0)) return nullptr;
  static const TimeModel judge(*weights);
  return &judge;
}

}  // namespace trident::expr::rewrite
