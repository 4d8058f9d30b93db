// Reads a loop's image: which of the guest's instructions it stands for, its registers, its windows.
#pragma once

#include <cstdint>
#include <vector>

#include "clients/c/guest_memory.h"
#include "clients/c/image_map.h"
#include "schemas/loop_image.h"

namespace trident::client {

/// Where a window's addresses come from: a register's value in the frame, or pc.
struct WindowUse {
  WindowNeed need;
  std::uint16_t base = 0;
};

struct LoopShape {
  std::vector<trident_loop_range> ranges;  ///< in order; offsets from the head
  std::vector<WindowUse> windows;
  std::uint64_t registers_read = 0, registers_written = 0;
  std::uint32_t instructions = 0;

  /// Returns true when code that reads and writes registers as `told` has it may be replaced by code of this shape.
  [[nodiscard]] bool fits(const LoopShape& told) const {
    return (registers_read & ~told.registers_read) == 0 && (registers_written & ~told.registers_written) == 0;
  }
};

/// Reads the description of an image that map_image() has accepted as a loop's.
LoopShape shape_of(const ImageMap& image);

}  // namespace trident::client
