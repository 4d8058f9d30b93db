// Random well-formed regions that end: every op, all types, blocks in any order with loops, accesses that lie
// inside of their windows, at their edges and outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/region/region.h"

namespace trident::testing {

struct RandomRegionOptions {
  std::uint32_t variables = 12;
  std::uint32_t blocks = 5;
  std::uint32_t ops = 12;  ///< of a block
  std::uint32_t windows = 3;
};

/// A region whose budget (a variable at the frame's start) ends its loops.
region::Region random_region(std::uint64_t seed, const RandomRegionOptions& options = {});

/// Bytes of a frame that holds all homes of `region`.
std::size_t frame_bytes(const region::Region& region);

/// Memory, windows into it that may overlap, and a frame, for one run of a region of random_region().
class RegionState {
 public:
  RegionState(const region::Region& region, std::uint64_t seed);
  /// Copies frame and memory; the windows of a copy lead to the copy's memory.
  RegionState(const RegionState& other) : RegionState() { *this = other; }
  RegionState& operator=(const RegionState& other);

  std::vector<std::byte> frame, memory;
  std::vector<region::Window> windows;

 private:
  RegionState() = default;
};

}  // namespace trident::testing
