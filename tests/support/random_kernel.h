// Random well-formed kir kernels: every op, every type, all three sections, within the preconditions of ops.def.
//
// Results are comparable bit for bit except for NaN, whose payload no two machines need share. So floats that an
// arithmetic op may have made NaN are never reinterpreted as integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/kir/kir.h"
#include "tests/support/random.h"

namespace trident::testing {

struct RandomKernelOptions {
  std::uint32_t ops = 30;
  std::uint32_t inputs_max = 4;
  std::uint32_t params_max = 2;
  std::uint32_t outputs_max = 3;
  bool reductions = true;
  bool narrow_only = false;         ///< 4-byte types only
  bool floats_only = false;         ///< f32 and f64, no integer arithmetic
  bool tables = false;              ///< inputs of a length of their own, and ops that read them
  std::uint32_t estimate_bits = 0;  ///< ops that begin with an estimate of so many bits; 0: none
  bool exits = false;  ///< an exit, and so no reductions: mostly taken within the first two hundred elements
};

kir::Kernel random_kernel(std::uint64_t seed, const RandomKernelOptions& options = {});

/// `kernel` without its exit, whose mask is one more output, the last: 0 where no lane is set.
kir::Kernel without_exit(const kir::Kernel& kernel);

/// One lane: corner cases, numbers near one, integers, raw bits.
std::uint64_t random_lane(Random& random, kir::Type type);

/// The corner cases of `type` that random_lane picks from.
const std::vector<std::uint64_t>& corner_lanes(kir::Type type);

/// Equal bits, or both NaN.
bool same_lane(kir::Type type, std::uint64_t a, std::uint64_t b);

/// Every op that takes operands of `type` (Scalef within its preconditions), one array output each, on three inputs of
/// that type; conversions from it to every type, a lookup, and masks through selects.
kir::Kernel every_op_kernel(kir::Type type);

/// Products of i64 whose factors are 32 bits wide by construction, and of others that nearly are: a kernel has those of
/// one factor with all others.
std::vector<kir::Kernel> half_product_kernels();

}  // namespace trident::testing
