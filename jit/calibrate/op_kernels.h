// Kernels that show the cost of one op of kir: chains in which each op waits for the one before it. A long chain takes
// the op's latency per step; several short ones side by side, and those of the next elements, which a processor begins
// before these are done, take its reciprocal throughput per step.
//
//   in0 -> step -> step -> ... -> out0          x 1      latency
//   in0 -> step -> step -> ... -> out0          x 8..12  throughput
//   in1 -> step -> step -> ... -> out1
//
// Loads, stores, the loop and the part of a long chain that overlaps with the next one are the same for every length:
// the time of two lengths differs by that of the steps between them, and of nothing else.
//
// Where an op's result cannot be its next operand, a step has more than the op: a comparison is followed by a select, a
// conversion by the one back. `beside` names it, to be taken off; a round trip of conversions counts half for each way.
// Values stay normal, finite and in the domain that Div and Sqrt are flagged for, and are neither 1 nor other powers of
// two where an op may have a shortcut for those.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/cost/cost.h"
#include "jit/kir/kir.h"

namespace trident::calibrate {

enum class Measure : std::uint8_t { latency, throughput };

/// The arrays of every kernel here, chains and reference alike, so that they can take turns on the same data: kChains
/// inputs of the row's type, kChains of the reference's, as many outputs as a kernel has use for.
inline constexpr unsigned kChains = 12;

struct OpStep {
  double share = 1;                 ///< of the step's time that is the row's, after what is beside it
  std::vector<cost::Row> beside{};  ///< what else a step does
};
/// The contents of a step of op_kernel(row, measure, ...).
OpStep step_of(const cost::Row& row, Measure measure);

/// Chains of `steps` steps (reductions: `chains` of them, of one step). Passes kir::check().
kir::Kernel op_kernel(const cost::Row& row, Measure measure, unsigned chains, unsigned steps);

/// The float type whose lanes are as wide as the widest that the row handles: of whose fma its figures are multiples.
ir::Type reference_type(const cost::Row& row);
/// Chains of the fma that `row` is measured beside; they read the second half of the inputs.
kir::Kernel reference_kernel(const cost::Row& row, unsigned chains, unsigned steps);

/// How the kernels of a row are emitted: one vector at a time, scheduled, which is when parameters and constants have
/// registers of their own. In source order they would be memory operands, two a cycle.
codegen::Variant op_variant(const cost::Row& row);

/// Input arrays of `elements` elements each for every kernel of the row, and the parameters.
struct OpInputs {
  std::vector<std::vector<std::byte>> arrays;
  std::vector<std::uint64_t> params;
};
OpInputs op_inputs(const cost::Row& row, std::uint64_t elements);

}  // namespace trident::calibrate
