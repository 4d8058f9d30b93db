// The inverse hyperbolic functions' entry to log1p: its argument comes in parts.
#pragma once

#include "jit/kir/math/functions.h"

namespace trident::kir::math {

struct Log1pArgument {
  Value head;
  Value tail;     ///< where valid (ulp1): the rounding error of head
  Value doubled;  ///< where valid, a mask: where set, log(2) is added to the result, as part of its exponent
};
/// log(1 + head + tail); `range` is that of head.
Value log1p_of_parts(Expansion& e, const Log1pArgument& x, const Range& range);

}  // namespace trident::kir::math
