// The same kernel without the operations that decide nothing: comparisons that always turn out alike, clamps that never
// clamp, lookups of one entry. Where the operands are known to lie, as one forward pass of interval arithmetic finds
// it, every result keeps its bits (NaN aside, of which any is any).
//
// Math functions for arguments of any size are mostly such work once a range is known: a policy that fixes the bits may
// not choose another expansion, but it may leave out what this one never needs.
#pragma once

#include <limits>
#include <vector>

#include "jit/kir/kir.h"

namespace trident::kir {

/// An interval that holds a float value, whether it may be NaN. Zero stands for both zeros.
struct Known {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool may_be_nan = true;
};

/// `kernel` passes check(). `known`: of the values of its instructions, by their numbers, for inputs that the caller
/// promises; what is beyond its end, or no float, is not looked at. Without instructions that no output needs.
Kernel narrow(const Kernel& kernel, const std::vector<Known>& known);

}  // namespace trident::kir
