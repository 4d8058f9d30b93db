#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace trident::train {

/// Views a state of one byte as a replay ring stores it, for tests.
inline std::span<const std::byte> bytes_of(const std::uint8_t& state) {
  return std::as_bytes(std::span<const std::uint8_t>(&state, 1));
}

}  // namespace trident::train
