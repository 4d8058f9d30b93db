// The kir interpreter: the meaning of kir, and the client's fallback. Works block by block (a few hundred elements per
// op), so that it runs at the speed of L1 rather than one element at a time, with inner loops for several
// instruction-set levels that all give the same bits (NaN aside: a NaN's sign and payload may differ between levels and
// hosts).
#pragma once

#include <cstdint>
#include <memory>

#include "jit/kir/kir.h"
#include "runtime/os/simd_level.h"

namespace trident::kir {

/// Returns whether the interpreter has `level` and this machine can run it.
bool is_available(os::SimdLevel level);
/// Returns the interpreter's highest level on this machine.
os::SimdLevel best_level();

struct PlanState;

/// A kernel made ready to run. Self-contained and immutable: any number of threads may run one plan at once. Copies
/// share their state.
class Plan {
 public:
  /// `kernel` must have passed check(); `level` must be available. Allocates.
  static Plan prepare(const Kernel& kernel, os::SimdLevel level = best_level());

  /// Runs over `n` elements. `in[i]` and `out[i]` point to arrays of the declared types (n elements; one for a scalar
  /// output); an output may be the same array as an input of the same type, but may not overlap one partly. `params[i]`
  /// holds the bits of parameter i in its low bytes. Takes at most 56 KiB of stack and allocates nothing; a kernel that
  /// needs more scratch than that (hundreds of values alive at once) has it in the plan, and concurrent runs then wait
  /// for each other. Returns the number of elements that are done: n, unless the kernel has an exit and stops there.
  /// The interpreter stops at a multiple of kBlockGranule elements.
  std::uint64_t run(std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) const;

  /// True if concurrent runs wait for each other, so that run() is neither async-signal-safe nor usable in a child that
  /// was forked during one.
  [[nodiscard]] bool takes_turns() const;

 private:
  explicit Plan(std::shared_ptr<const PlanState> state) : state_(std::move(state)) {}
  std::shared_ptr<const PlanState> state_;
};

/// Plan::prepare(kernel).run(...): see there.
std::uint64_t interpret(const Kernel& kernel, std::uint64_t n, const void* const* in, void* const* out,
                        const std::uint64_t* params);

/// Evaluates one lane of one op, on bits: constant folding uses it, and tests compare everything else with it.
/// `operand` is the type of the operands (for Select: of b and c); reductions, leaves and Lookup are not allowed.
std::uint64_t eval_lane(Op op, Type result, Type operand, std::uint64_t a, std::uint64_t b, std::uint64_t c);

}  // namespace trident::kir
