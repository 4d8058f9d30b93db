// Finds checks and loads of a region that only repeat earlier ones.
#pragma once

#include <vector>

#include "jit/region/region.h"

namespace trident::regionopt {

struct Reused {
  region::Region region;
  std::vector<bool> held;  ///< by instruction: an access that cannot miss
  bool changed = false;    ///< something is left out
};

/// Returns a region that means the same as `region`, which must pass region::check(). A load that only repeats an
/// earlier one, or reads what was just stored, reads the value. An access of elements is `held` where the same was
/// checked on all ways to it. Regions beyond some thousand instructions stay as they are.
Reused reuse_memory(region::Region region);

}  // namespace trident::regionopt
