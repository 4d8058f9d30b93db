// Removes operations from a kernel that decide nothing: comparisons that always turn out alike, clamps that never
// clamp, lookups of one entry. Products and conversions of 64-bit integers that are small become cheaper ones. One
// forward pass of interval arithmetic finds where the operands lie. Every result keeps its bits there (except that any
// NaN may become another).
//
// Math functions for arguments of any size mostly do such work once a range is known. A policy that fixes the bits may
// not choose another expansion, but it may leave out what the range makes unnecessary.
#pragma once

#include <limits>
#include <vector>

#include "jit/kir/kir.h"

namespace trident::kir {

/// An interval that holds a value, and whether that may be NaN. Zero stands for both zeros.
struct Known {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool may_be_nan = true;
};

/// Narrows `kernel`, which passes check(). `known`: facts of its instructions' values, by number, for inputs that the
/// caller promises; missing ones and those of masks are ignored. Drops instructions that no output needs. Where the
/// host does not convert longs (AVX2 has no conversions between i64 and floats), small numbers are converted by a sum.
Kernel narrow(const Kernel& kernel, const std::vector<Known>& known, bool converts_longs = true);

}  // namespace trident::kir
