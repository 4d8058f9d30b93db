// Ranges that random kernels are assumed to run in, the kernels that are right there alone, and data in and around
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/kir/guard.h"
#include "tests/support/random.h"

namespace trident::testing {

struct Assumption {
  std::vector<kir::Assumed> inputs, params;
  kir::Kernel fast;  ///< narrowed to the ranges, without a guard
};

/// Draws ranges for the inputs and parameters of `general`; tables and their lengths may be anything.
Assumption assume(const kir::Kernel& general, Random& random);

/// An element in the range, at its ends, NaN where that may come or, one in `one_outside_in` (0: never), just outside
/// them or anything.
std::uint64_t lane_around(Random& random, kir::Type type, const kir::Assumed& assumed, std::uint32_t one_outside_in);

}  // namespace trident::testing
