// Makes a region of a loop: the loop's meaning, windowed, with every exit exact.
#pragma once

#include <cstdint>

#include "jit/loop/discover.h"
#include "jit/region/region.h"

namespace trident::loop {

/// The region works on a frame of aarch64::kFrameBytes whose words are those of lifter.h. It begins at the loop's head.
/// Every jump backwards takes one of the budget; with none left it leaves with Exit::budget, at the jump's target.
/// Where it leaves, pc is the guest's next instruction, and registers, flags and memory are what the guest has there.
/// Passes region::check().
Result<region::Region> lift(const Loop& loop);

}  // namespace trident::loop
