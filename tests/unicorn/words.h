// Instructions of AArch64 as words, for guests of tests. `by` counts instructions.
#pragma once

#include <cstdint>

namespace trident::tests {

constexpr std::uint32_t imm12(std::uint32_t op, unsigned d, unsigned n, unsigned imm) {
  return op | imm << 10 | n << 5 | d;
}
constexpr std::uint32_t add(unsigned d, unsigned n, unsigned imm) {
  return imm12(0x9100'0000, d, n, imm);
}
constexpr std::uint32_t sub(unsigned d, unsigned n, unsigned imm) {
  return imm12(0xD100'0000, d, n, imm);
}
constexpr std::uint32_t subs(unsigned d, unsigned n, unsigned imm) {
  return imm12(0xF100'0000, d, n, imm);
}
constexpr std::uint32_t add_x(unsigned d, unsigned n, unsigned m) {
  return 0x8B00'0000 | m << 16 | n << 5 | d;
}
constexpr std::uint32_t mov(unsigned d, unsigned m) {
  return 0xAA00'03E0 | m << 16 | d;
}
constexpr std::uint32_t ldr(unsigned t, unsigned n, unsigned eights) {
  return imm12(0xF940'0000, t, n, eights);
}
constexpr std::uint32_t str(unsigned t, unsigned n, unsigned eights) {
  return imm12(0xF900'0000, t, n, eights);
}
constexpr std::uint32_t str_w(unsigned t, unsigned n, unsigned fours) {
  return imm12(0xB900'0000, t, n, fours);
}
constexpr std::uint32_t ldrb_post(unsigned t, unsigned n, unsigned by) {
  return 0x3840'0400 | by << 12 | n << 5 | t;
}
constexpr std::uint32_t strb_post(unsigned t, unsigned n, unsigned by) {
  return 0x3800'0400 | by << 12 | n << 5 | t;
}
constexpr std::uint32_t ldr_post(unsigned t, unsigned n, unsigned by) {
  return 0xF840'0400 | by << 12 | n << 5 | t;
}
constexpr std::uint32_t b(int by) {
  return 0x1400'0000 | (static_cast<std::uint32_t>(by) & 0x3FF'FFFF);
}
constexpr std::uint32_t bl(int by) {
  return 0x9400'0000 | (static_cast<std::uint32_t>(by) & 0x3FF'FFFF);
}
constexpr std::uint32_t b_ne(int by) {
  return 0x5400'0001 | (static_cast<std::uint32_t>(by) & 0x7'FFFF) << 5;
}
constexpr std::uint32_t cbz(unsigned t, int by) {
  return 0xB400'0000 | (static_cast<std::uint32_t>(by) & 0x7'FFFF) << 5 | t;
}
constexpr std::uint32_t cbnz(unsigned t, int by) {
  return cbz(t, by) | 0x100'0000;
}
inline constexpr std::uint32_t kRet = 0xD65F'03C0, kNop = 0xD503'201F;

}  // namespace trident::tests
