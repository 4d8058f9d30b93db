// Images for tests of the slot and of what is built on it: each is a function that returns its number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "clients/c/image_map.h"
#include "schemas/image_checks.h"

namespace trident::client {

/// The type of their entry. It is not a kernel's: a slot serves any.
using Number = std::uint64_t();

inline constexpr std::uint64_t kFallbackNumber = 99;
inline std::uint64_t fallback_number() {
  return kFallbackNumber;
}

#if defined(__aarch64__)
inline std::vector<std::byte> code_returning(std::uint16_t number) {
  const std::uint32_t words[] = {0xd503245f, 0x52800000u | std::uint32_t{number} << 5, 0xd65f03c0};  // bti c; movz; ret
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}
#else
inline std::vector<std::byte> code_returning(std::uint16_t number) {
  const std::uint8_t code[] = {
      0xf3, 0x0f, 0x1e, 0xfa, 0xb8, static_cast<std::uint8_t>(number), static_cast<std::uint8_t>(number >> 8),
      0,    0,    0xc3};  // endbr64; mov eax, number; ret
  const auto bytes = std::as_bytes(std::span(code));
  return {bytes.begin(), bytes.end()};
}
#endif

/// A whole image, and the claim that fits it.
struct NumberImage {
  std::uint8_t tier = 0;
  std::uint16_t number = 0;
  std::vector<std::byte> bytes{};
  ImageClaim claim{};
};

inline NumberImage number_image(std::uint8_t tier, std::uint16_t number, bool speculative = false) {
  constexpr std::uint32_t kCode = 128, kPool = 192;
  trident_image_header h{};
  h.magic = TRIDENT_IMAGE_MAGIC;
  h.version = speculative ? TRIDENT_SPECULATIVE_IMAGE_VERSION : TRIDENT_IMAGE_VERSION;
  h.isa = greatest_isa();
  h.tier = tier;
  h.total_size = h.unwind_offset = h.pool_offset = kPool;
  h.code_offset = h.entry_offset = kCode;
  h.code_size = kPool - kCode;
  std::vector<std::byte> bytes(kPool, std::byte{0xCC});
  const std::vector<std::byte> code = code_returning(number);
  std::copy(code.begin(), code.end(), bytes.begin() + kCode);
  std::memcpy(bytes.data(), &h, sizeof h);
  const XXH128_hash_t digest = image::digest_of(bytes);
  h.digest[0] = digest.low64, h.digest[1] = digest.high64;
  std::memcpy(bytes.data(), &h, sizeof h);
  return {tier, number, bytes, {kPool, h.digest[0], h.digest[1], tier, 0, 0, 0}};
}

}  // namespace trident::client
