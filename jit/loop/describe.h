// Makes the description of a loop that its image carries: what a client must know to enter and leave the code.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/loop/discover.h"
#include "jit/region/region.h"
#include "schemas/loop_image.h"

namespace trident::loop {

struct Description {
  trident_loop_description counts{};
  std::vector<trident_loop_range> ranges;  ///< rising, none touches another
  std::vector<trident_loop_window_use> windows;
};

/// Describes `loop` and the region that lift() made of it.
Description describe(const Loop& loop, const region::Region& region);

/// The bytes as they stand in the image.
std::vector<std::byte> bytes_of(const Description& description);

}  // namespace trident::loop
