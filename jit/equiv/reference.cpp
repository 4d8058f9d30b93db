#include "jit/equiv/reference.h"

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "jit/equiv/evaluator.h"

namespace trident::equiv {
namespace {

using expr::Op;
using expr::Type;

/// Points evaluated at once; fewer where the lanes of an expression's nodes would not stay in the caches.
constexpr std::size_t kBlock = 64, kBlockMin = 8, kLanesMax = 8192;

// Copies the evaluator's values of the outputs.
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
        out.unsure.push_back(lanes.unsure[i] & kOpen);
        out.on_the_way.push_back(lanes.unsure[i] & kOnTheWay);
        if (!ir::is_float(out.type)) {
          out.integer.push_back(lanes.ci[i]);
          out.whole.push_back(lanes.whole[i]);
          continue;
        }
        out.strict.push_back(lanes.s[i]);
        out.correct.push_back(approximate(lanes.c[i]));
        out.error.push_back(error_of(lanes.c[i]));
        out.bound.push_back(lanes.d[i] >= 0 ? lanes.d[i] : std::numeric_limits<long double>::infinity());
      }
    }
  }

 private:
  const expr::Expr& expr_;
  std::vector<OutputValues>& outputs_;
};

template <class N>
void evaluate_all(Evaluator<N>& evaluator, const expr::Expr& expr, const Samples& samples,
                  std::vector<OutputValues>& outputs, const Stop& stop) {
  Collector<N> collector(expr, outputs);
  for (const Call& call : samples.calls) {
    evaluator.run_call(call, [&](std::uint64_t, std::size_t count) { collector.take(evaluator, false, count); });
    if (stop.stopped()) return;
    collector.take(evaluator, true, 1);
  }
}

/// Returns how many elements are evaluated at once: no more than the longest call has.
std::size_t block_for(const expr::Expr& expr, const Samples& samples) {
  std::uint64_t longest = 1;
  for (const Call& call : samples.calls) longest = std::max(longest, call.n);
  const std::size_t block = std::clamp(kLanesMax / std::max<std::size_t>(expr.nodes.size(), 1), kBlockMin, kBlock);
  return static_cast<std::size_t>(std::min<std::uint64_t>(longest, block));
}

}  // namespace

namespace levels {

// One point at one precision: the answer.
struct Answer {
  std::uint8_t unsure = 0;
  std::int64_t integer = 0;
  long double value = 0, error = 0, bound = 0;
  Whole whole;
  std::uint8_t on_the_way = 0;
  bool precise = true;  ///< no operand was too imprecise for the decisions on the way
};

template <mpfr_prec_t kBits>
class Precision {
 public:
  void run(const expr::Expr& expr, const Samples& samples, bool per_call, std::size_t index, Stop& stop, double k) {
    if (!evaluator_) {
      evaluator_ = std::make_unique<Evaluator<WideBig<kBits>>>(expr, samples, std::size_t{1}, &stop, k);
      evaluator_->keep_to_outputs();
    }
    if (per_call) {
      evaluator_->run_call(samples.calls[index], [](std::uint64_t, std::size_t) {});
    } else {
      evaluator_->run_point(index);
    }
  }

  /// The answer of an output where it was run.
  Answer answer(const expr::Expr& expr, const OutputValues& out, std::size_t output) const {
    const auto& lanes = evaluator_->lanes(expr.outputs[output].node);
    Answer a;
    a.unsure = lanes.unsure[0] & kOpen;
    a.on_the_way = lanes.unsure[0] & kOnTheWay;
    if (a.unsure != 0) a.precise = evaluator_->precise();
    if (!ir::is_float(out.type)) {
      a.integer = lanes.ci[0];
      a.whole = lanes.whole[0];
      return a;
    }
    a.value = approximate(lanes.c[0]);
    a.error = error_of(lanes.c[0]);
    a.bound = lanes.d[0] >= 0 ? lanes.d[0] : std::numeric_limits<long double>::infinity();
    return a;
  }

 private:
  std::unique_ptr<Evaluator<WideBig<kBits>>> evaluator_;
};

}  // namespace levels

// The quick evaluator, of the carrier that the expression needs.
struct Reference::Quick {
  std::optional<Evaluator<Tracked<double>>> narrow;
  std::optional<Evaluator<Tracked<long double>>> wide;
};

// The slow evaluators, made when first needed.
struct Reference::Slow {
  static constexpr std::size_t kLevels = 3;
  static constexpr std::size_t kCost[kLevels] = {1, 4, 32};
  explicit Slow(double units) : k(units) {}
  double k;
  levels::Precision<kBigBits> first;
  levels::Precision<800> second;
  levels::Precision<3200> third;  // holds every sum and difference of two doubles

  void run(std::size_t level, const expr::Expr& expr, const Samples& samples, bool per_call, std::size_t index,
           Stop& stop) {
    if (level == 0) return first.run(expr, samples, per_call, index, stop, k);
    if (level == 1) return second.run(expr, samples, per_call, index, stop, k);
    return third.run(expr, samples, per_call, index, stop, k);
  }
  [[nodiscard]] levels::Answer answer(std::size_t level, const expr::Expr& expr, const OutputValues& out,
                                      std::size_t output) const {
    if (level == 0) return first.answer(expr, out, output);
    if (level == 1) return second.answer(expr, out, output);
    return third.answer(expr, out, output);
  }
};

// Constants and spare integers.
void free_thread_constants() {
  mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
}

Reference::Reference(std::function<bool()> cancelled) : stop_(std::make_unique<Stop>(std::move(cancelled))) {}
Reference::Reference(Reference&&) noexcept = default;
Reference& Reference::operator=(Reference&&) noexcept = default;
// A client's engine thread ends with its last reference.
Reference::~Reference() {
  slow_.reset();
  free_thread_constants();
}

bool Reference::stopped() const {
  return stop_->stopped();
}

Result<Reference> Reference::make(const expr::Expr& expr, const Samples& samples, std::function<bool()> cancelled,
                                  double k) {
  for (const auto& node : expr.nodes)
    if (node.op == Op::Diff)
      return make_error(ErrorCode::kUnsupported, "the reference does not evaluate derivatives; eliminate them first");
  const std::vector<expr::Shape> shapes = expr::shapes_of(expr);
  Reference reference(std::move(cancelled));
  reference.expr_ = &expr;
  reference.samples_ = &samples;
  reference.k_ = k;
  for (const auto& output : expr.outputs) {
    OutputValues values;
    values.type = expr.at(output.node).type;
    values.per_call = shapes[output.node.index] == expr::Shape::total;
    reference.outputs_.push_back(std::move(values));
  }
  TRY_VOID(reference.evaluate(*reference.make_quick()));
  reference.slow_ = std::make_unique<Slow>(k);
  return reference;
}

std::unique_ptr<Reference::Quick> Reference::make_quick() const {
  auto quick = std::make_unique<Quick>();
  const bool wide = std::any_of(expr_->nodes.begin(), expr_->nodes.end(),
                                [](const expr::Node& node) { return ir::bytes_of(node.type) == 8; });
  const std::size_t block = block_for(*expr_, *samples_);
  if (wide) {
    quick->wide.emplace(*expr_, *samples_, block, stop_.get(), k_).keep_to_outputs();
  } else {
    quick->narrow.emplace(*expr_, *samples_, block, stop_.get(), k_).keep_to_outputs();
  }
  return quick;
}

Result<void> Reference::evaluate(Quick& quick) {
  if (quick.wide) {
    evaluate_all(*quick.wide, *expr_, *samples_, outputs_, *stop_);
  } else {
    evaluate_all(*quick.narrow, *expr_, *samples_, outputs_, *stop_);
  }
  if (stopped()) return make_error(ErrorCode::kCancelled, "the equivalence check was cancelled");
  return {};
}

Result<void> Reference::renew() {
  CHECK(expr::passes_of(*expr_) == 1);  // the slow evaluators keep no totals then
  for (OutputValues& values : outputs_) {
    OutputValues none;
    none.type = values.type, none.per_call = values.per_call;
    values = std::move(none);
  }
  if (!quick_) quick_ = make_quick();
  return evaluate(*quick_);
}

namespace {

constexpr long double kKnownUlp = 0.01L;

bool is_known(const levels::Answer& a, Type type, long double tolerance) {
  return a.error <= kKnownUlp * std::max(ulp_at(type, std::isfinite(a.value) ? a.value : 0), tolerance);
}

void put(const levels::Answer& a, OutputValues& out, std::size_t index) {
  out.on_the_way[index] = a.on_the_way;
  out.correct[index] = a.value;
  out.bound[index] = a.bound;
  out.error[index] = 0;
}

}  // namespace

// All nodes were evaluated, so what other outputs ask at this point is often answered too. Who tolerates a share of the
// bound in one output does so in the others.
void Reference::settle_others(std::size_t level, std::size_t output, std::size_t index, bool tolerant) {
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    OutputValues& out = outputs_[k];
    const bool asks = k != output && out.per_call == outputs_[output].per_call && ir::is_float(out.type);
    if (!asks || out.error[index] == 0 || out.unsure[index] == kLeftOut) continue;
    const levels::Answer a = slow_->answer(level, *expr_, out, k);
    const long double tolerance = tolerant ? std::min(out.bound[index], greatest_finite(out.type)) : 0;
    if (a.unsure != 0 || !is_known(a, out.type, tolerance)) continue;
    out.unsure[index] = kDecided;
    put(a, out, index);
  }
}

void Reference::refine(std::size_t output, std::size_t index, long double tolerance) {
  OutputValues& out = outputs_[output];
  for (std::size_t level = 0; level < Slow::kLevels; ++level) {
    if (stop_->ask()) return;
    refined_ += Slow::kCost[level];
    slow_->run(level, *expr_, *samples_, out.per_call, index, *stop_);
    if (stopped()) return;
    const levels::Answer a = slow_->answer(level, *expr_, out, output);
    settle_others(level, output, index, tolerance > 0);
    out.unsure[index] = a.unsure != 0 ? kRoundingDecides : kDecided;
    if (!ir::is_float(out.type)) {
      out.on_the_way[index] = a.on_the_way;
      out.integer[index] = a.integer;
      out.whole[index] = a.whole;
      if (a.unsure == 0) return;
    } else {
      put(a, out, index);
      if (a.unsure == 0 && is_known(a, out.type, tolerance)) return;
      if (a.unsure == 0) out.unsure[index] = kBeyondPrecision;
    }
    if (a.unsure != 0 && a.precise) return;  // more bits would give the same answer
  }
}

}  // namespace trident::equiv
