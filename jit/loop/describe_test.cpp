// Oracle: the loops read by hand.
#include "jit/loop/describe.h"

#include <gtest/gtest.h>

#include <vector>

#include "jit/loop/lift.h"
#include "schemas/loop_checks.h"

namespace trident::loop {
namespace {

constexpr std::uint64_t kFlags = std::uint64_t{1} << 32;

std::uint64_t bits(std::initializer_list<unsigned> registers) {
  std::uint64_t all = 0;
  for (const unsigned r : registers) all |= std::uint64_t{1} << r;
  return all;
}

/// Describes the loop whose head is instruction number `head` of `words`.
Description described(const std::vector<std::uint32_t>& words, std::size_t head = 0) {
  constexpr std::uint64_t kBase = 0x40'0000;
  const auto found = discover({kBase, std::as_bytes(std::span(words))}, kBase + 4 * head);
  CHECK(std::holds_alternative<Loop>(found));
  const auto region = lift(std::get<Loop>(found));
  CHECK(region.ok());
  Description description = describe(std::get<Loop>(found), *region);
  EXPECT_EQ(image::description_fault(bytes_of(description)), nullptr);
  return description;
}

// ldrb w3, [x1, x2]; strb w3, [x0, x2]; add x2, x2, #1; cmp x2, x4; b.ne head
TEST(Describe, CopyOfBytes) {
  const Description d = described({0x38626823, 0x38226803, 0x91000442, 0xEB04005F, 0x54FFFF81});
  EXPECT_EQ(d.counts.instructions, 5u);
  ASSERT_EQ(d.ranges.size(), 1u);
  EXPECT_EQ(d.ranges[0].offset, 0);
  EXPECT_EQ(d.ranges[0].bytes, 20u);
  // x3 and the flags are written at exits that a first round comes to before it has set them.
  EXPECT_EQ(d.counts.registers_read, bits({0, 1, 2, 3, 4}) | kFlags);
  EXPECT_EQ(d.counts.registers_written, bits({2, 3}) | kFlags);
  ASSERT_EQ(d.windows.size(), 2u);
  EXPECT_EQ(d.windows[0].base, 0);
  EXPECT_EQ(d.windows[0].access, TRIDENT_LOOP_STORES);
  EXPECT_EQ(d.windows[1].base, 1);
  EXPECT_EQ(d.windows[1].access, TRIDENT_LOOP_LOADS);
  EXPECT_EQ(d.windows[1].widest, 1);
}

// loop: mov x5, #7; add x6, x6, x5; cbnz x7, loop. No access, so x5 is set before every exit.
TEST(Describe, ARegisterThatEveryRoundSetsIsNotRead) {
  const Description d = described({0xD28000E5, 0x8B0500C6, 0xB5FFFFC7});
  EXPECT_EQ(d.counts.registers_read, bits({6, 7}));
  EXPECT_EQ(d.counts.registers_written, bits({5, 6}));
  EXPECT_TRUE(d.windows.empty());
}

// 0: b head; 4: ldp x0, x1, [sp]; 8: b latch; 12 (head): cbz x2, 4; 16: ldr w3, .; 20 (latch): b head
TEST(Describe, RangesAroundTheHead) {
  const Description d = described({0x14000003, 0xA94007E0, 0x14000003, 0xB4FFFFC2, 0x18000003, 0x17FFFFFE}, 3);
  ASSERT_EQ(d.ranges.size(), 1u);
  EXPECT_EQ(d.ranges[0].offset, -8);
  EXPECT_EQ(d.ranges[0].bytes, 20u);
  ASSERT_EQ(d.windows.size(), 2u);
  EXPECT_EQ(d.windows[0].base, 31);
  EXPECT_EQ(d.windows[0].widest, 16);
  EXPECT_EQ(d.windows[1].base, 32);
  EXPECT_EQ(d.windows[1].widest, 4);
}

// head: b over; (not reached); over: sub x0, x0, #1; cbnz x0, head
TEST(Describe, CodeThatIsJumpedOverIsNoRange) {
  const Description d = described({0x14000002, 0xD503201F, 0xD1000400, 0xB5FFFFA0});
  ASSERT_EQ(d.ranges.size(), 2u);
  EXPECT_EQ(d.ranges[0].bytes, 4u);
  EXPECT_EQ(d.ranges[1].offset, 8);
  EXPECT_EQ(d.counts.instructions, 3u);
}

}  // namespace
}  // namespace trident::loop
