// A guest for tests of loops: a CPU that knows a few AArch64 instructions. Each is a word beside what it does, written
// down here from the architecture's manual, so that native code has an oracle of another author.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "clients/c/trident_loop.h"

namespace trident::tests {

inline constexpr std::uint64_t kGuestHead = 0x400000, kGuestData = 0x10000000;

struct Guest {
  std::uint64_t x[32] = {};
  std::uint64_t pc = kGuestHead;
  std::uint32_t nzcv = 0;
  std::span<std::uint8_t> data;  ///< memory from kGuestData on; not its own

  [[nodiscard]] std::uint64_t load(std::uint64_t address, unsigned bytes) const {
    std::uint64_t value = 0;
    std::memcpy(&value, data.data() + (address - kGuestData), bytes);
    return value;
  }
  void store(std::uint64_t address, std::uint64_t value, unsigned bytes) {
    std::memcpy(data.data() + (address - kGuestData), &value, bytes);
  }
  /// SUBS of 64 bits.
  void subtract(unsigned d, std::uint64_t a, std::uint64_t b) {
    const std::uint64_t r = a - b;
    const bool overflow = (((a ^ b) & (a ^ r)) >> 63) != 0;
    nzcv = static_cast<std::uint32_t>(r >> 63) << 31 | (r == 0 ? 1u << 30 : 0) | (a >= b ? 1u << 29 : 0) |
           (overflow ? 1u << 28 : 0);
    x[d] = r;
  }
};

struct GuestInstruction {
  std::uint32_t word;
  std::function<void(Guest&)> run;  ///< pc is already that of the next one
};

struct GuestLoop {
  std::string name;
  std::vector<GuestInstruction> code;

  [[nodiscard]] std::vector<std::uint32_t> words() const {
    std::vector<std::uint32_t> all;
    for (const GuestInstruction& instruction : code) all.push_back(instruction.word);
    return all;
  }
  [[nodiscard]] bool is_in(std::uint64_t pc) const { return pc - kGuestHead < 4 * code.size(); }
  void step(Guest& guest) const {
    const GuestInstruction& instruction = code[(guest.pc - kGuestHead) / 4];
    guest.pc += 4;
    instruction.run(guest);
  }
  /// To the loop's end.
  void run(Guest& guest) const {
    while (is_in(guest.pc)) step(guest);
  }
};

inline GuestInstruction count_down() {  // subs x2, x2, #1
  return {0xf1000442, [](Guest& g) { g.subtract(2, g.x[2], 1); }};
}
inline GuestInstruction back_unless_equal(std::uint32_t instructions) {  // b.ne
  return {0x54000001u | ((0u - instructions) & 0x7ffffu) << 5, [instructions](Guest& g) {
            if ((g.nzcv & 1u << 30) == 0) g.pc -= 4 * (instructions + 1);
          }};
}

inline std::vector<GuestLoop> guest_loops() {
  const GuestInstruction load_byte{0x38401423, [](Guest& g) { g.x[3] = g.load(g.x[1], 1), g.x[1] += 1; }};
  return {
      {"memset",
       {{0x38001401, [](Guest& g) { g.store(g.x[0], g.x[1], 1), g.x[0] += 1; }}, count_down(), back_unless_equal(2)}},
      {"memcpy",
       {load_byte,
        {0x38001403, [](Guest& g) { g.store(g.x[0], g.x[3], 1), g.x[0] += 1; }},
        count_down(),
        back_unless_equal(3)}},
      {"sum",
       {{0xb8404423, [](Guest& g) { g.x[3] = g.load(g.x[1], 4), g.x[1] += 4; }},
        {0x8b030000, [](Guest& g) { g.x[0] += g.x[3]; }},
        count_down(),
        back_unless_equal(3)}},
      {"crc",
       {load_byte,
        {0x4a030004, [](Guest& g) { g.x[4] = static_cast<std::uint32_t>(g.x[0] ^ g.x[3]); }},
        {0x92401c84, [](Guest& g) { g.x[4] &= 0xff; }},
        {0xb86478a4, [](Guest& g) { g.x[4] = g.load(g.x[5] + 4 * g.x[4], 4); }},
        {0x4a402080,
         [](Guest& g) { g.x[0] = static_cast<std::uint32_t>(g.x[4]) ^ static_cast<std::uint32_t>(g.x[0]) >> 8; }},
        count_down(),
        back_unless_equal(6)}},
  };
}

}  // namespace trident::tests
