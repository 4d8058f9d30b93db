// Makes images of loops for tests of what is around them: code that tells which window it was given, takes rounds from
// the budget and leaves by the exit that it was made for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "clients/c/image_map.h"
#include "clients/c/trident_loop.h"
#include "schemas/image_checks.h"
#include "schemas/loop_image.h"

namespace trident::client {

/// A description, and the deeds of the code.
struct ProbeLoop {
  std::vector<trident_loop_range> ranges = {{0, 16, 0}};
  std::vector<trident_loop_window_use> windows = {{1, TRIDENT_LOOP_LOADS, 4, 0}};
  std::uint64_t registers_read = 0x6, registers_written = 0x2;
  std::uint8_t exit = TRIDENT_LOOP_LEFT;
  std::uint8_t rounds = 3;
  std::uint8_t tier = TRIDENT_TIER_BASELINE;
};

struct LoopImage {
  std::vector<std::byte> bytes;
  ImageClaim claim;
};

#if defined(__x86_64__)
/// scratch = {window 0's lo, its span}; budget -= rounds; exit_address = x[5]; exit_window = 0.
inline std::vector<std::uint8_t> probe_code(const ProbeLoop& loop) {
  return {0xf3, 0x0f, 0x1e, 0xfa,                     // endbr64
          0x48, 0x8b, 0x06,                           // mov rax, [rsi]
          0x48, 0x89, 0x87, 0x38,        0x01, 0, 0,  // mov [rdi + 312], rax
          0x48, 0x8b, 0x46, 0x08,                     // mov rax, [rsi + 8]
          0x48, 0x89, 0x87, 0x40,        0x01, 0, 0,  // mov [rdi + 320], rax
          0x48, 0x83, 0x2f, loop.rounds,              // sub qword [rdi], rounds
          0x48, 0x8b, 0x47, 0x40,                     // mov rax, [rdi + 64]
          0x48, 0x89, 0x47, 0x08,                     // mov [rdi + 8], rax
          0xc7, 0x47, 0x10, loop.exit,   0,    0, 0,  // mov dword [rdi + 16], exit
          0xc7, 0x47, 0x14, 0,           0,    0, 0,  // mov dword [rdi + 20], 0
          0xc3};                                      // ret
}
#else
inline std::vector<std::uint8_t> probe_code(const ProbeLoop&) {
  return {};
}
#endif

inline std::vector<std::byte> description_of(const ProbeLoop& loop) {
  trident_loop_description d{};
  d.guest = TRIDENT_GUEST_AARCH64;
  d.windows = static_cast<std::uint16_t>(loop.windows.size());
  d.ranges = static_cast<std::uint32_t>(loop.ranges.size());
  for (const trident_loop_range& range : loop.ranges) d.instructions += range.bytes / 4;
  d.registers_read = loop.registers_read;
  d.registers_written = loop.registers_written;
  d.bytes =
      static_cast<std::uint32_t>(sizeof d + std::span(loop.ranges).size_bytes() + std::span(loop.windows).size_bytes());
  std::vector<std::byte> bytes;
  const auto add = [&](auto part) {
    const auto raw = std::as_bytes(part);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  add(std::span(&d, 1));
  add(std::span(loop.ranges));
  add(std::span(loop.windows));
  return bytes;
}

inline LoopImage loop_image(const ProbeLoop& loop) {
  constexpr std::uint32_t kCode = 128, kPool = 192;
  const std::vector<std::byte> description = description_of(loop);
  trident_image_header h{};
  h.magic = TRIDENT_IMAGE_MAGIC;
  h.version = TRIDENT_LOOP_IMAGE_VERSION;
  h.isa = greatest_isa();
  h.tier = loop.tier;
  h.unwind_offset = h.pool_offset = h.description_offset = kPool;
  h.description_size = static_cast<std::uint32_t>(description.size());
  h.total_size = kPool + h.description_size;
  h.code_offset = h.entry_offset = kCode;
  h.code_size = kPool - kCode;
  std::vector<std::byte> bytes(h.total_size, std::byte{0xCC});
  const std::vector<std::uint8_t> code = probe_code(loop);
  std::memcpy(bytes.data() + kCode, code.data(), code.size());
  std::copy(description.begin(), description.end(), bytes.begin() + kPool);
  std::memcpy(bytes.data(), &h, sizeof h);
  const XXH128_hash_t digest = image::digest_of(bytes);
  h.digest[0] = digest.low64, h.digest[1] = digest.high64;
  std::memcpy(bytes.data(), &h, sizeof h);
  ImageClaim claim;
  claim.size = h.total_size;
  claim.digest_low = h.digest[0], claim.digest_high = h.digest[1];
  claim.tier = h.tier;
  claim.version = TRIDENT_LOOP_IMAGE_VERSION;
  return {std::move(bytes), claim};
}

}  // namespace trident::client
