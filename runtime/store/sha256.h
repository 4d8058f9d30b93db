// SHA-256 over pieces, by libcrypto.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace trident::store {

using Digest = std::array<std::uint8_t, 32>;

/// The digest of the bytes alone, as `sha256sum` prints it.
Digest sha256_of(std::span<const std::byte> bytes);

/// The digest of the pieces in a row, each preceded by its length: no two lists of pieces share their input.
Digest sha256(std::initializer_list<std::span<const std::byte>> pieces);

}  // namespace trident::store
