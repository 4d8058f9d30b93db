// A file that is part of the program's read-only data: it need not be found, and its version always fits.
// cmake/embed.cmake makes arrays of them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace trident {

struct EmbeddedFile {
  std::string_view name;  ///< without its folder
  std::string_view text;  ///< aligned to 64 bytes; a zero byte follows

  [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text)); }
};

}  // namespace trident
