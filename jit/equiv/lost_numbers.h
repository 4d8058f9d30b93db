// Points at which a kernel gives an infinity or NaN, and its source as written a number. The policies forbid that
// nearly everywhere, however wide the bound, but it shows at single points only: where variables are equal or opposite,
// a divisor of a rewritten kernel may be zero to the bit, and that of the source not.
//
//   0.1/(1 + 0.2126*r + 0.7152*g + 0.0722*b)   at r = g = b = -1: the divisor is 2^-53 or 0, as terms are added
//   (u + v)/6 as u*(1/6) + v*(1/6)             of the least subnormals: each product is 0, the sum's quotient is not
//
// So both are run at many more points than the reference could judge, and compared with each other. Only points that
// are found go to the reference, which says whether the policy excuses them.
#pragma once

#include <span>
#include <vector>

#include "jit/equiv/compare.h"
#include "jit/kir/kir.h"

namespace trident::equiv {

class LostNumbers {
 public:
  /// Returns some points at which `kernel` loses a number that `unrewritten`, the kernel of `source` as written, gives:
  /// among more points like those of the sets in which variables are alike, tiny, vast, or near to where a value
  /// vanishes. The arguments aside from `kernel` are the same in all calls.
  std::vector<Point> of(const kir::Kernel& kernel, const expr::Expr& source, const kir::Kernel& unrewritten,
                        std::span<const Samples> sets, std::uint64_t seed);

 private:
  struct Part {
    Samples samples;
    Outputs theirs;
  };
  std::vector<Part> parts_;  ///< made when first asked for
  bool made_ = false;
};

}  // namespace trident::equiv
