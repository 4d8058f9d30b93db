// Weights shipped with the program, as AccumulatorWeights::view() takes them; aligned to 64 bytes. Made by
// `trident train` (jit/learn/README.md has the commands).
#pragma once

#include <cstddef>
#include <span>

namespace trident::nnue {

/// Returns the weights of the guide of searches.
std::span<const std::byte> shipped_weights();
/// Returns the weights of the judge of times.
std::span<const std::byte> shipped_judge();

}  // namespace trident::nnue
