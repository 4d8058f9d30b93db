// Guards of assumed ranges: exits (kir.h) that a kernel takes where an element of an input lies outside the range that
// the kernel was made for.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "jit/kir/kir.h"

namespace trident::kir {

/// A range that an input is assumed to lie in; both ends belong to it, NaN does where it is said. From -inf to inf
/// nothing is assumed, not even that there is no NaN. Keys and messages take its bytes.
struct Assumed {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool or_nan = false;  ///< floats: an element may also be NaN, as missing data are
  std::uint8_t reserved[7] = {};
  [[nodiscard]] bool is_anything() const;
};
static_assert(sizeof(Assumed) == 24, "without padding, whose bytes would be any");

/// Gives `kernel`, which has no exit, one that is set where an input or a parameter lies outside its range: one for
/// each of kernel.inputs and kernel.params. Tables are not guarded. Returns false, with nothing done, if all may be
/// anything.
bool guard(Kernel& kernel, std::span<const Assumed> inputs, std::span<const Assumed> params);

}  // namespace trident::kir
