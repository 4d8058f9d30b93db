// Reads variables where their values came from.
#pragma once

#include "jit/region/region.h"

namespace trident::region {

/// Returns `region`, which passes check(), with each Get replaced that reads the same as another variable or a
/// constant: by a Get of that variable or by the constant; readers of a quotient that its block has twice read the
/// first. The meaning stays. It makes instructions useless; code generation drops those.
Region forward_copies(Region region);

}  // namespace trident::region
