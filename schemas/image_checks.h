// The checks of a kernel image that its two ends share: the daemon's side (jit/image), which builds and seals images,
// and the client's (clients/c/image_map.h), which maps them. Each end adds what only it can know: the daemon the
// limits, the client the kernel that asked and the instruction sets of its CPU.
#pragma once

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>

#include "schemas/function_checks.h"
#include "schemas/kernel_image.h"
#include "schemas/loop_checks.h"
#include "schemas/loop_image.h"

namespace trident::image {

/// Says whether images of this version are scalar code with a description: loops and functions. Their entry takes a
/// frame and windows, and they need BMI2.
inline bool is_region_image(std::uint16_t version) {
  return version == TRIDENT_LOOP_IMAGE_VERSION || version == TRIDENT_FUNCTION_IMAGE_VERSION;
}

/// Says whether the image's end is that of its last part. A description is the last part, and begins at the next
/// multiple of 8 behind the others: the digest does not cover the two fields, which follow from the others.
inline bool ends_behind(const trident_image_header& h, std::uint64_t unwind_end) {
  if (!is_region_image(h.version))
    return unwind_end == h.total_size && h.description_offset == 0 && h.description_size == 0;
  constexpr std::uint64_t kAlign = TRIDENT_IMAGE_DESCRIPTION_ALIGN;
  return h.description_offset == (unwind_end + kAlign - 1) / kAlign * kAlign &&
         std::uint64_t{h.description_offset} + h.description_size == h.total_size;
}

/// Says where the parts that `h` describes do not lie in order, aligned and inside the image; null when they do.
inline const char* place_fault(const trident_image_header& h) {
  // 64-bit sums of 32-bit fields cannot overflow.
  const std::uint64_t code_end = std::uint64_t{h.code_offset} + h.code_size;
  const std::uint64_t pool_end = std::uint64_t{h.pool_offset} + h.pool_size;
  const std::uint64_t unwind_end = std::uint64_t{h.unwind_offset} + h.unwind_size;
  if (h.code_offset < TRIDENT_IMAGE_HEADER_BYTES || h.code_offset % TRIDENT_IMAGE_ALIGN != 0) return "code offset";
  if (h.code_size == 0 || code_end > h.total_size) return "code size";
  if (h.entry_offset < h.code_offset || h.entry_offset >= code_end) return "entry outside the code";
  if (h.pool_offset < code_end || h.pool_offset % TRIDENT_IMAGE_ALIGN != 0) return "pool offset";
  if (pool_end > h.unwind_offset || !ends_behind(h, unwind_end)) return "unwind place, or that of the description";
  return nullptr;
}

/// Says what is wrong with the header `h` of an image of `size` bytes; null when nothing is.
inline const char* header_fault(const trident_image_header& h, std::uint64_t size) {
  if (h.magic != TRIDENT_IMAGE_MAGIC) return "magic number";
  if (h.version != TRIDENT_IMAGE_VERSION && h.version != TRIDENT_SPECULATIVE_IMAGE_VERSION &&
      !is_region_image(h.version))
    return "version";
  if (h.tier != TRIDENT_TIER_BASELINE && h.tier != TRIDENT_TIER_OPTIMISED) return "tier";
  if (h.total_size != size || size < TRIDENT_IMAGE_HEADER_BYTES) return "total size";
  if (const char* fault = place_fault(h)) return fault;
  const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
  if (h.reserved0 != 0 || !std::all_of(std::begin(h.reserved1), std::end(h.reserved1), is_zero))
    return "reserved bytes";
  return nullptr;
}

/// Says what is wrong with the description of `image`, whose header `h` is sound; null when nothing is, and for
/// kernels, which have none.
inline const char* image_description_fault(std::span<const std::byte> image, const trident_image_header& h) {
  if (!is_region_image(h.version)) return nullptr;
  const auto description = image.subspan(h.description_offset, h.description_size);
  return h.version == TRIDENT_LOOP_IMAGE_VERSION ? description_fault(description)
                                                 : function_description_fault(description);
}

/// Returns true when the entry of `image`, whose header `h` is sound, is a landing pad for indirect branches.
inline bool enters_at_landing_pad(std::span<const std::byte> image, const trident_image_header& h) {
  constexpr std::array<std::uint8_t, 4> kEndbr64 = {0xF3, 0x0F, 0x1E, 0xFA};
  constexpr std::array<std::uint8_t, 4> kBtiC = {0x5F, 0x24, 0x03, 0xD5};
  const auto& pad = h.isa == TRIDENT_ISA_NEON ? kBtiC : kEndbr64;
  const std::span<const std::byte> code = image.first(h.code_offset + h.code_size).subspan(h.entry_offset);
  return code.size() >= pad.size() && std::memcmp(code.data(), pad.data(), pad.size()) == 0;
}

/// The digest of `image`, which is at least a header long.
inline XXH128_hash_t digest_of(std::span<const std::byte> image) {
  const XXH64_hash_t seed = XXH3_64bits(image.data(), TRIDENT_IMAGE_DIGEST_OFFSET);
  const auto body = image.subspan(TRIDENT_IMAGE_HEADER_BYTES);
  return XXH3_128bits_withSeed(body.data(), body.size(), seed);
}

}  // namespace trident::image
