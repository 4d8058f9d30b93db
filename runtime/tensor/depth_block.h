// How long the chain of a sum may be, for compiled and emitted products alike: an element of a product is one chain of
// fused multiply-adds over each block of k, scaled by alpha and added to C block by block.
#pragma once

#include <cstddef>

namespace trident::tensor {
inline constexpr std::size_t kDepthBlock = 256;
}  // namespace trident::tensor
