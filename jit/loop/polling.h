// Tells loops that wait for somebody else: their end hangs on a word at one fixed address that they never write. A
// device or another thread changes it, which native code would not let happen.
#pragma once

#include "jit/region/region.h"

namespace trident::loop {

/// Returns whether the loop of `region`, which lift() made, polls. The stack is private, so words there are no reason.
bool polls(const region::Region& region);

}  // namespace trident::loop
