#include "clients/c/loop_shape.h"

#include "schemas/loop_checks.h"

namespace trident::client {

LoopShape shape_of(const ImageMap& image) {
  const auto description = image.description();
  const auto head = image::description_item<trident_loop_description>(description, 0, 0);
  const std::size_t ranges_at = sizeof head, windows_at = ranges_at + head.ranges * sizeof(trident_loop_range);
  LoopShape shape;
  shape.registers_read = head.registers_read;
  shape.registers_written = head.registers_written;
  shape.instructions = head.instructions;
  for (std::size_t i = 0; i < head.ranges; ++i)
    shape.ranges.push_back(image::description_item<trident_loop_range>(description, ranges_at, i));
  for (std::size_t i = 0; i < head.windows; ++i) {
    const auto use = image::description_item<trident_loop_window_use>(description, windows_at, i);
    const bool loads = (use.access & TRIDENT_LOOP_LOADS) != 0, stores = (use.access & TRIDENT_LOOP_STORES) != 0;
    shape.windows.push_back({{loads, stores, use.widest}, use.base});
  }
  return shape;
}

}  // namespace trident::client
