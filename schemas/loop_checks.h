// The checks of a loop's description that the two ends of an image share (image_checks.h calls them): numbers that fit
// each other and the description's size, so that a client can follow them without a further look.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "schemas/loop_image.h"

namespace trident::image {

/// Returns item number `index` of those that begin at `offset` of a description.
template <class T>
T description_item(std::span<const std::byte> description, std::size_t offset, std::size_t index) {
  T item;
  std::memcpy(&item, description.data() + offset + index * sizeof(T), sizeof(T));
  return item;
}

inline const char* counts_fault(const trident_loop_description& d, std::size_t size) {
  constexpr std::uint64_t kRegisters = (std::uint64_t{1} << 33) - 1;  // x0..x30, sp, flags
  if (d.guest != TRIDENT_GUEST_AARCH64) return "guest";
  if (d.windows > TRIDENT_LOOP_WINDOWS_MAX) return "number of windows";
  if (d.ranges == 0 || d.ranges > TRIDENT_LOOP_CODE_BYTES_MAX / 4) return "number of ranges";
  const std::size_t bytes =
      sizeof d + d.ranges * sizeof(trident_loop_range) + d.windows * sizeof(trident_loop_window_use);
  if (d.bytes != bytes || bytes != size) return "size of the description";
  if (((d.registers_read | d.registers_written) & ~kRegisters) != 0) return "registers";
  return nullptr;
}

/// Ranges rise, do not touch, hold the head and as many instructions as the description says.
inline const char* ranges_fault(const trident_loop_description& d, std::span<const std::byte> description) {
  constexpr std::int64_t kFarthest = TRIDENT_LOOP_CODE_BYTES_MAX;
  std::uint64_t bytes = 0;
  std::int64_t end = -kFarthest - 1;
  bool has_head = false;
  for (std::uint32_t r = 0; r < d.ranges; ++r) {
    const auto range = description_item<trident_loop_range>(description, sizeof d, r);
    if (range.offset <= end || range.offset >= kFarthest || range.offset % 4 != 0) return "place of a range";
    if (range.bytes == 0 || range.bytes % 4 != 0 || range.bytes > kFarthest) return "size of a range";
    end = range.offset + range.bytes;
    if (end > kFarthest) return "place of a range";
    if (range.reserved != 0) return "reserved bytes";
    has_head |= range.offset <= 0 && end > 0;
    bytes += range.bytes;
  }
  if (!has_head) return "no range has the head";
  return bytes == std::uint64_t{4} * d.instructions ? nullptr : "number of instructions";
}

inline const char* windows_fault(const trident_loop_description& d, std::span<const std::byte> description) {
  constexpr std::uint16_t kPc = 32;
  constexpr std::uint8_t kAccesses = TRIDENT_LOOP_LOADS | TRIDENT_LOOP_STORES, kWidest = 16;
  for (std::uint32_t w = 0; w < d.windows; ++w) {
    const auto use =
        description_item<trident_loop_window_use>(description, sizeof d + d.ranges * sizeof(trident_loop_range), w);
    if (use.base > kPc) return "base of a window";
    if (use.access == 0 || (use.access & ~kAccesses) != 0) return "access of a window";
    if (use.widest == 0 || use.widest > kWidest) return "widest access of a window";
    if (use.reserved != 0) return "reserved bytes";
  }
  return nullptr;
}

/// Says what is wrong with a description; null when nothing is.
inline const char* description_fault(std::span<const std::byte> description) {
  if (description.size() < sizeof(trident_loop_description)) return "size of the description";
  const auto d = description_item<trident_loop_description>(description, 0, 0);
  if (const char* fault = counts_fault(d, description.size())) return fault;
  if (const char* fault = ranges_fault(d, description)) return fault;
  return windows_fault(d, description);
}

}  // namespace trident::image
