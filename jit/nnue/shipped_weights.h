// The weights that come with the program, as AccumulatorWeights::view() takes them; aligned to 64 bytes. Made by
// `trident train` (jit/learn/README.md says by which commands).
#pragma once

#include <cstddef>
#include <span>

namespace trident::nnue {

/// For the guide of searches.
std::span<const std::byte> shipped_weights();
/// For the judge of times.
std::span<const std::byte> shipped_judge();

}  // namespace trident::nnue
