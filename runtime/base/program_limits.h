// Bounds of a request to make a program of Triton VM cheaper, for its clients and for its builder.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trident::limits {

/// Words of the program; the longest that is published has 119,730.
inline constexpr std::uint32_t kBuildWordsMax = 1u << 19;
/// Inputs that it is measured on.
inline constexpr std::size_t kBuildRunsMax = 64;

}  // namespace trident::limits
