// The sample's interpreter (clients/c/samples) against Unicorn: random instructions of every class that it knows, in
// random states. Oracle: Unicorn.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/loops/unicorn_guest.h"

extern "C" {
#include "clients/c/samples/toy_cpu.h"
}

namespace trident::tests {
namespace {

struct Class {
  const char* name;
  std::uint32_t mask, value;
};

/// The manual's encoding classes (Arm ARM, C4.1): fixed bits and their values.
constexpr Class kClasses[] = {
    {"add immediate", 0x1f800000, 0x11000000},   {"add shifted", 0x1f200000, 0x0b000000},
    {"add extended", 0x1fe00000, 0x0b200000},    {"logic shifted", 0x1f000000, 0x0a000000},
    {"logic immediate", 0x1f800000, 0x12000000}, {"move wide", 0x1f800000, 0x12800000},
    {"bitfield", 0x1f800000, 0x13000000},        {"select", 0x1fe00000, 0x1a800000},
    {"multiply", 0x7fe00000, 0x1b000000},        {"memory offset", 0x3f000000, 0x39000000},
    {"memory indexed", 0x3f200000, 0x38000000},  {"memory register", 0x3f200c00, 0x38200800},
    {"memory pair", 0x3e000000, 0x28000000},     {"branch", 0xfc000000, 0x14000000},
    {"branch if", 0xff000010, 0x54000000},       {"branch zero", 0x7e000000, 0x34000000},
    {"branch bit", 0x7e000000, 0x36000000},
};

std::uint32_t field(std::uint32_t word, unsigned low) {
  return word >> low & 31;
}

/// Write-back into a register that is loaded or stored too, and a pair loaded into one register twice: the manual
/// leaves open what they do.
bool left_open(std::uint32_t word) {
  const bool pair = (word & 0x3a000000) == 0x28000000, memory = pair || (word & 0x3f200000) == 0x38000000;
  const std::uint32_t base = field(word, 5), to = field(word, 0), second = field(word, 10);
  const bool loads = pair && (word >> 22 & 1) != 0;
  return memory && (base == to || (pair && (base == second || (loads && to == second))));
}

struct Machine {
  UnicornGuest unicorn;
  std::vector<std::uint8_t> code = std::vector<std::uint8_t>(0x1000), data = std::vector<std::uint8_t>(kDataBytes);
  toy_cpu toy{};

  Machine() {
    toy.memory[0] = {kCodeBase, code.size(), code.data()};
    toy.memory[1] = {kDataBase, data.size(), data.data()};
  }

  /// Gives both the same state; bases of accesses lie in the data, indices are small.
  void draw(GuestFrame& frame, std::uint32_t word, testing::Random& random) {
    frame = {};
    for (std::uint64_t& x : frame.x) x = drawn(random.next());
    frame.x[field(word, 16)] = random.next() % 512 - 128;
    frame.x[field(word, 5)] = kDataBase + kDataBytes / 2 + random.next() % 64;
    frame.pc = kCodeBase;
    frame.nzcv = static_cast<std::uint32_t>(random.next()) & 0xf000'0000;
    std::memcpy(toy.x, frame.x, sizeof toy.x);
    toy.nzcv = frame.nzcv;
    toy.pc = kCodeBase;
    std::memcpy(code.data(), &word, sizeof word);
    std::memcpy(data.data(), unicorn.data().data(), data.size());
  }
};

TEST(ToyCpu, EqualsUnicornOnEveryClass) {
  Machine machine;
  testing::Random random(11);
  fill(machine.unicorn.data(), random);
  for (const Class& group : kClasses) {
    std::size_t ran = 0;
    for (std::size_t i = 0; i < cases(3'000); ++i) {
      const std::uint32_t word = (static_cast<std::uint32_t>(random.next()) & ~group.mask) | group.value;
      GuestFrame frame;
      machine.draw(frame, word, random);
      if (left_open(word) || !toy_step(&machine.toy)) continue;
      ++ran;
      ASSERT_TRUE(machine.unicorn.run({&word, 1}, frame, ~0ull, 1) || frame.pc != kCodeBase)
          << group.name << std::hex << word;
      EXPECT_EQ(machine.toy.pc, frame.pc) << group.name << " " << std::hex << word;
      EXPECT_EQ(machine.toy.nzcv, frame.nzcv) << group.name << " " << std::hex << word;
      ASSERT_EQ(std::memcmp(machine.toy.x, frame.x, sizeof frame.x), 0) << group.name << " " << std::hex << word;
      ASSERT_EQ(std::memcmp(machine.data.data(), machine.unicorn.data().data(), machine.data.size()), 0) << group.name;
    }
    EXPECT_GT(ran, cases(3'000) / 10) << group.name;
  }
}

}  // namespace
}  // namespace trident::tests
