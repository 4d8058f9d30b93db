#include "runtime/tensor/arena.h"

#include <algorithm>

namespace trident::tensor {

void* Arena::take_bytes(std::size_t bytes) {
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  if (blocks_.empty() || blocks_.back().size() - used_ < rounded) {
    auto block = os::map_private(std::max(block_bytes_, rounded));
    CHECK(block.ok());
    blocks_.push_back(std::move(block).value());
    used_ = 0;
  }
  void* at = static_cast<std::byte*>(blocks_.back().base()) + used_;
  used_ += rounded;
  ++pieces_;
  bytes_ += rounded;
  return at;
}

}  // namespace trident::tensor
