// Predicts a kernel's time before it is compiled and timed. An analytical model works over the instructions that it
// lowers to. The learned time model adds a linear function of that model's parts and a network over the term's
// features, which learns the residual (jit/learn). Its weights are called judge.nnue, after `trident train judge`.
//
// A prediction orders candidates and decides nothing: published kernels were measured (jit/judge).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "jit/cost/cost.h"
#include "jit/expr/expr.h"
#include "jit/kir/kir.h"
#include "runtime/nn/accumulator/weights.h"

namespace trident::expr::rewrite {

/// Inputs of the time model's head beside the accumulator, in its order. X(Name, "meaning"). Logarithms are natural, in
/// 128ths. Costs are in fmas (jit/cost/cost.h).
#define TRIDENT_TIME_SCALARS(X)                                                    \
  X(nodes, "logarithm of the term's nodes")                                        \
  X(throughput, "logarithm of the sum of reciprocal throughputs")                  \
  X(latency, "logarithm of the sum of latencies")                                  \
  X(path, "logarithm of the critical path")                                        \
  X(slack, "logarithm of critical path over sum of throughputs")                   \
  X(divisions, "logarithm of 1 and what divisions and roots keep the divider for") \
  X(selects, "logarithm of 1 and comparisons, selects and masks")                  \
  X(constants, "logarithm of 1 and different constants and other invariants")      \
  X(variables, "logarithm of 1 and arrays read")                                   \
  X(outputs, "logarithm of 1 and arrays written")                                  \
  X(live, "logarithm of 1 and most values that are live at once, in source order") \
  X(integers, "logarithm of 1 and instructions on integers")                       \
  X(instructions, "logarithm of the instructions that it lowers to")               \
  X(static_guess, "logarithm of the analytical model's nanoseconds")               \
  X(wide, "127 where vectors have half as many lanes, as for f64")                 \
  X(tables, "logarithm of 1 and elements gathered")
#define X(name, meaning) name,
enum class TimeScalar : std::uint8_t { TRIDENT_TIME_SCALARS(X) };
#undef X
static_assert(static_cast<std::size_t>(TimeScalar::tables) + 1 == nn::kScalars);
using TimeScalars = std::array<std::int16_t, nn::kScalars>;

/// Work of a kernel per vector of elements.
struct KernelWork {
  double throughput = 0, latency = 0;  ///< sums over instructions, in fmas
  double path = 0;                     ///< the longest chain of latencies, in those of an fma
  double divider = 0;                  ///< the part of `throughput` that divisions and roots are
  std::uint32_t instructions = 0, selects = 0, integers = 0, gathers = 0;
  std::uint32_t invariants = 0, inputs = 0, outputs = 0;
  std::uint32_t live = 0;  ///< most values at once, in the order of instructions
  bool wide = false;       ///< some value has 64 bits
};
KernelWork work_of(const kir::Kernel& kernel, const cost::Table& costs);

/// The analytical model, in ns per element of an L1-resident loop: the port time of its instructions, or the critical
/// path divided by the number of iterations that fit into the processor's reorder window.
double static_ns(const KernelWork& work, const cost::Table& costs);

/// Returns the linear part of a prediction; for weights without one, the analytical model's.
double base_of(const nn::LinearGuess* base, const TimeScalars& scalars);

/// `nodes`: of the term.
TimeScalars scalars_of(const KernelWork& work, const cost::Table& costs, std::uint32_t nodes);

/// Returns a logarithm as scalars hold it: in 128ths, clipped to 2^11.
std::int16_t scalar_of_logarithm(double x);

class TimeModel {
 public:
  /// Must outlive it.
  explicit TimeModel(const nn::AccumulatorWeights& weights) : weights_(weights) {}

  /// Predicts the logarithm of the nanoseconds per element of `kernel`, which `expr` was lowered to. Errors: those of
  /// to_term().
  [[nodiscard]] Result<double> log_ns(const Expr& expr, const kir::Kernel& kernel, const cost::Table& costs) const;
  /// Predicts from a term's features and its number of nodes.
  [[nodiscard]] double log_ns(std::span<const std::uint32_t> features, std::uint32_t nodes,
                              const TimeScalars& scalars) const;
  /// Returns how much faster, as a logarithm, a form must be predicted than the statically cheapest one to replace it
  /// without a measurement. Learnt on other kernels than those of a report's figures.
  [[nodiscard]] double margin() const;

 private:
  const nn::AccumulatorWeights& weights_;
};

/// Returns the time model of the shipped weights; null if they hold none.
const TimeModel* shipped_time_model();

}  // namespace trident::expr::rewrite
