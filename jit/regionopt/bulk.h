// Finds the loops of a region whose rounds can be done in bulk.
#pragma once

#include <vector>

#include "jit/region/region.h"
#include "jit/regionopt/bulk_loop.h"

namespace trident::regionopt {

/// A region with a block of its own before the head of each of its bulk loops. It means the same as the one that it was
/// made of.
struct Bulk {
  region::Region region;
  std::vector<BulkLoop> loops;
  std::vector<bool> held{};  ///< by instruction: accesses that cannot miss; empty: none is known
  bool reuses = false;       ///< less is loaded or checked
};

/// `region` must pass region::check().
Bulk find_bulk(region::Region region);
/// Does the same after reuse_memory().
Bulk optimise(region::Region region);

}  // namespace trident::regionopt
