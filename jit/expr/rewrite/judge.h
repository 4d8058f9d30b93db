// What a kernel will take before it is compiled and timed: by an analytical model over the instructions that it lowers
// to, and by the judge: a linear function of what that model is made of, and a network, which learns what the function
// leaves over (jit/learn) from the term's features.
//
// A guess orders candidates and decides nothing: what is published was measured (jit/judge).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "jit/cost/cost.h"
#include "jit/expr/expr.h"
#include "jit/kir/kir.h"
#include "runtime/nn/accumulator/weights.h"

namespace trident::expr::rewrite {

/// What the judge's head is told beside the accumulator, in its order. X(Name, "meaning"); logarithms are natural, in
/// 128ths. Costs are in fmas (jit/cost/cost.h).
#define TRIDENT_JUDGE_SCALARS(X)                                                   \
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
enum class JudgeScalar : std::uint8_t { TRIDENT_JUDGE_SCALARS(X) };
#undef X
static_assert(static_cast<std::size_t>(JudgeScalar::tables) + 1 == nn::kScalars);
using JudgeScalars = std::array<std::int16_t, nn::kScalars>;

/// What a kernel does for every vector of elements.
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

/// The analytical model, ns per element of an L1-resident loop: what the pipes need for its instructions, or the
/// critical path, of which as many are under way at once as iterations fit into the processor's window of instructions.
double static_ns(const KernelWork& work, const cost::Table& costs);

/// The linear part of a guess: of weights that have none, the analytical model's.
double base_of(const nn::LinearGuess* base, const JudgeScalars& scalars);

/// `nodes`: of the term.
JudgeScalars scalars_of(const KernelWork& work, const cost::Table& costs, std::uint32_t nodes);

/// The logarithms of numbers as scalars hold them: in 128ths, clipped to 2^11.
std::int16_t scalar_of_logarithm(double x);

class Judge {
 public:
  /// Must outlive it.
  explicit Judge(const nn::AccumulatorWeights& weights) : weights_(weights) {}

  /// The logarithm of the nanoseconds per element that `kernel`, which `expr` was lowered to, should take. Errors: what
  /// to_term() refuses.
  [[nodiscard]] Result<double> log_ns(const Expr& expr, const kir::Kernel& kernel, const cost::Table& costs) const;
  /// The same for a term with these features, of so many nodes.
  [[nodiscard]] double log_ns(std::span<const std::uint32_t> features, std::uint32_t nodes,
                              const JudgeScalars& scalars) const;
  /// How much faster than the statically cheapest form another one must be by its guess, as a logarithm, to be taken in
  /// its place where nothing is measured. Learnt on families of kernels that the figures of a report are not from.
  [[nodiscard]] double margin() const;

 private:
  const nn::AccumulatorWeights& weights_;
};

/// By the weights that come with the program; null where those hold no judge.
const Judge* shipped_judge();

}  // namespace trident::expr::rewrite
