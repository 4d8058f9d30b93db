// The weights that come with the program, as AccumulatorWeights::view() takes them.
#pragma once

#include <cstddef>
#include <span>

namespace trident::nnue {

/// Aligned to 64 bytes. Made by `trident train guide` (jit/learn/README.md says by which command).
std::span<const std::byte> shipped_weights();

}  // namespace trident::nnue
