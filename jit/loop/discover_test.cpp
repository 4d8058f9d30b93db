// Loops that are joined with those behind them. Oracle: the code read by hand.
#include "jit/loop/discover.h"

#include <gtest/gtest.h>

#include <vector>

#include "jit/loop/lift.h"

namespace trident::loop {
namespace {

constexpr std::uint64_t kBase = 0x40'0000;
constexpr std::uint32_t kRet = 0xD65F'03C0, kCall = 0x9400'0100, kMove = 0xAA05'03E1, kNop = 0xD503'201F;

/// Sums of bytes, then of words behind x5; `between` stands between the two:
///   0: ldrb w3, [x1], #1; subs x2, x2, #1; b.ne 0; between; ldr x4, [x1], #8; subs x6, x6, #1; b.ne -2; after
std::vector<std::uint32_t> two_loops(const std::vector<std::uint32_t>& between, std::uint32_t after = kRet) {
  std::vector<std::uint32_t> words = {0x3840'1423, 0xF100'0442, 0x54FF'FFC1};
  words.insert(words.end(), between.begin(), between.end());
  for (const std::uint32_t word : {0xF840'8424u, 0xF100'04C6u, 0x54FF'FFC1u, after}) words.push_back(word);
  return words;
}

std::optional<Loop> joined_in(const std::vector<std::uint32_t>& words, std::size_t head = 0) {
  return discover_joined({kBase, std::as_bytes(std::span(words))}, kBase + 4 * head);
}

TEST(DiscoverJoined, TakesTheLoopBehindAndTheCodeBetween) {
  const auto joined = joined_in(two_loops({kMove}));
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->head, kBase);
  ASSERT_EQ(joined->instructions.size(), 7u);
  EXPECT_EQ(joined->instructions.rbegin()->first, kBase + 24);
  EXPECT_EQ(joined->cycle_count(), 2u);
  const std::uint32_t cycles[] = {1, 1, 1, 0, 2, 2, 2, 0};
  for (std::size_t i = 0; i < std::size(cycles); ++i) EXPECT_EQ(joined->cycle_of(kBase + 4 * i), cycles[i]) << i;
  EXPECT_EQ(joined->leaders, (std::set<std::uint64_t>{kBase, kBase + 12, kBase + 16}));
}

TEST(DiscoverJoined, EachCycleHasItsOwnWindows) {
  const auto joined = joined_in(two_loops({kMove}));
  ASSERT_TRUE(joined);
  EXPECT_EQ(windows_of(*joined), (std::vector<Window>{{1, 1}, {2, 1}}));
  const auto region = lift(*joined);
  ASSERT_TRUE(region.ok()) << region.error().message;
  EXPECT_EQ(region->windows, 2u);
}

TEST(DiscoverJoined, CyclesAreLoopsOfTheirOwn) {
  const auto joined = joined_in(two_loops({kMove}));
  ASSERT_TRUE(joined);
  const std::vector<Loop> cycles = cycles_of(*joined);
  ASSERT_EQ(cycles.size(), 2u);
  EXPECT_EQ(cycles[0].head, kBase);
  EXPECT_EQ(cycles[1].head, kBase + 16);
  for (const Loop& cycle : cycles) {
    EXPECT_EQ(cycle.instructions.size(), 3u);
    EXPECT_EQ(cycle.leaders, std::set<std::uint64_t>{cycle.head});
    EXPECT_TRUE(lift(cycle).ok());
  }
}

TEST(DiscoverJoined, NothingIsJoinedWhereNoLoopIsReached) {
  EXPECT_FALSE(joined_in(two_loops({kMove}), 4)) << "the second loop has none behind it";
  EXPECT_FALSE(joined_in(two_loops({kMove}), 3)) << "no loop has its head between the two";
  EXPECT_FALSE(joined_in(two_loops({kCall})));
  EXPECT_FALSE(joined_in(two_loops({kRet})));
  EXPECT_FALSE(joined_in({0x3840'1423, 0xF100'0442, 0x54FF'FFC1, kRet}));
  const auto words = two_loops({kMove});
  EXPECT_FALSE(discover_joined({kBase, std::as_bytes(std::span(words))}, kBase + 2)) << "the head is not aligned";
}

TEST(DiscoverJoined, StoresBehindTheLastLoopAreTaken) {
  // add x3, x3, x4; str x3, [x0]; nop; ret
  std::vector<std::uint32_t> words = two_loops({kMove}, 0x8B04'0063);
  for (const std::uint32_t word : {0xF900'0003u, kNop, kRet}) words.push_back(word);
  const auto joined = joined_in(words);
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->instructions.rbegin()->first, kBase + 32) << "the store, and nothing behind it";
  EXPECT_EQ(windows_of(*joined), (std::vector<Window>{{0, 0}, {1, 1}, {2, 1}}));
  words[8] = kNop;
  EXPECT_EQ(joined_in(words)->instructions.rbegin()->first, kBase + 24) << "no store, no tail";
}

TEST(DiscoverJoined, ManyInstructionsAreNotJoined) {
  EXPECT_TRUE(joined_in(two_loops(std::vector<std::uint32_t>(kJoinedInstructionsMax - 6, kNop))));
  EXPECT_FALSE(joined_in(two_loops(std::vector<std::uint32_t>(kJoinedInstructionsMax - 5, kNop))));
}

// A jump back to the first loop makes one cycle of both: a nest, which discover() finds as well.
TEST(DiscoverJoined, ANestIsOneLoop) {
  const auto words = two_loops({kMove}, 0xB5FF'FF27);  // cbnz x7, 0
  EXPECT_FALSE(joined_in(words));
  const auto nest = discover({kBase, std::as_bytes(std::span(words))}, kBase);
  ASSERT_TRUE(std::holds_alternative<Loop>(nest));
  EXPECT_EQ(std::get<Loop>(nest).instructions.size(), 8u);
}

}  // namespace
}  // namespace trident::loop
