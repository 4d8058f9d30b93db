#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace trident::os {

/// Views a text as bytes, for tests of what carries or stores bytes.
inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace trident::os
