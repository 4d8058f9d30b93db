// Oracle: small blocks whose rows were worked out by hand.
#include "jit/tir/neural/draft.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "jit/tir/neural/sample_blocks.h"
#include "jit/tir/tasm/program.h"

namespace trident::tir::neural {
namespace {

using tasm::Op;

/// Makes a draft of these instructions, one token each.
Draft draft_of(const Original& original, const std::string& text) {
  Draft draft(original);
  for (const Instruction& i : block_of(text)) draft.take(first_token(i, original.pool()));
  return draft;
}

struct Seen {
  FeatureRows rows;
  std::uint32_t looked_at;
  [[nodiscard]] bool has(std::size_t row) const {
    return std::find(rows.begin(), rows.end(), static_cast<std::int32_t>(row)) != rows.end();
  }
  [[nodiscard]] bool cell(std::size_t c, std::size_t kind) const {
    return has(feature::kCell + c * feature::kCellRows + kind);
  }
  [[nodiscard]] bool use(std::size_t c, std::size_t kind) const {
    return has(feature::kUse + c * feature::kUseRows + kind);
  }
  [[nodiscard]] bool supply(std::size_t c, std::size_t kind) const {
    return has(feature::kSupply + c * feature::kSupplyRows + kind);
  }
};
Seen seen_of(const Draft& draft) {
  Seen seen;
  seen.looked_at = draft.append_rows(seen.rows);
  return seen;
}

TEST(Draft, IsToldWhereItsStackStandsAgainstTheEnd) {
  //                                             0     1   2      3
  const Original original = *Original::of(block_of("dup 1 mul push 9 lt"));
  const Seen start = seen_of(draft_of(original, ""));
  EXPECT_EQ(start.looked_at, 0b10u);           // lt works on the result of mul, which is missing
  EXPECT_TRUE(start.cell(0, kCellsSeen + 1));  // nowhere at the end
  EXPECT_TRUE(start.cell(1, 1));
  EXPECT_TRUE(start.cell(2, 2));
  EXPECT_TRUE(start.use(0, 2));
  EXPECT_TRUE(start.use(1, 1));
  EXPECT_TRUE(start.use(2, 0));
  EXPECT_TRUE(start.supply(0, 1));
  EXPECT_TRUE(start.supply(1, 0));  // mul takes one, and it stays
  EXPECT_TRUE(start.supply(2, 1));
  EXPECT_TRUE(start.has(feature::kMissing + 0));
  EXPECT_FALSE(start.has(feature::kMissing + 1));
  EXPECT_TRUE(start.has(feature::kHeight + 4));
  EXPECT_TRUE(start.has(feature::kReach + 1));
  EXPECT_TRUE(start.has(feature::kReach + feature::kReachRows + 0));
  EXPECT_FALSE(start.has(feature::kEffectsDone));  // lt may fail, and was not run

  const Seen later = seen_of(draft_of(original, "dup 1 mul"));
  EXPECT_EQ(later.looked_at, 0b1000u);
  EXPECT_TRUE(later.use(0, 2));
  EXPECT_TRUE(later.has(feature::kReach + tasm::kRegisters));  // the constant is to be pushed
  const std::size_t copied = feature::kWanted + kSmallConstants.size();
  EXPECT_TRUE(later.has(copied));
  EXPECT_FALSE(start.has(copied));

  const Draft done = draft_of(original, "dup 1 mul push 9 lt");
  EXPECT_TRUE(done.reached());
  const Seen end = seen_of(done);
  EXPECT_EQ(end.looked_at, 0b1111u);
  EXPECT_TRUE(end.has(feature::kEffectsDone));
  for (std::size_t c = 0; c < kCellsSeen; ++c) {
    EXPECT_TRUE(end.cell(c, c));
    EXPECT_TRUE(end.supply(c, 1));
  }
}

TEST(Draft, SeesWhatIsTooMany) {
  const Original original = *Original::of(block_of("pop 1 dup 0"));
  const Seen start = seen_of(draft_of(original, ""));
  EXPECT_TRUE(start.supply(0, 2));
  EXPECT_TRUE(start.supply(1, 0));
  EXPECT_TRUE(start.use(0, 0));
}

TEST(Draft, EffectsAreReadyInTheirOrder) {
  const Original original = *Original::of(block_of("write_io 1 write_io 1 add"));
  EXPECT_EQ(seen_of(draft_of(original, "")).looked_at, 0b101u);
  EXPECT_EQ(seen_of(draft_of(original, "write_io 1")).looked_at, 0b110u);
  EXPECT_EQ(seen_of(draft_of(original, "write_io 2")).looked_at, 0b100u);
}

TEST(Draft, StandsAtTheSamePointByOtherWays) {
  const Original original = *Original::of(block_of("push 77777 add"));
  EXPECT_EQ(draft_of(original, "swap 1 add").point(), draft_of(original, "add").point());
  EXPECT_NE(draft_of(original, "swap 1").point(), draft_of(original, "").point());
  Draft one(original), two(original);
  const std::vector<Token> literal = tokens_of(block_of("push 88888"), {});
  one.take(literal[0]), two.take(literal[0]);
  EXPECT_EQ(one.open_words(), 2u);
  EXPECT_EQ(one.point(), two.point());
  one.take(literal[1]), two.take(literal[2]);
  EXPECT_EQ(literal[1] == literal[2], one.point() == two.point());
  EXPECT_FALSE(one.reached());
}

TEST(Draft, GoingDeeperThanTheOriginalIsLost) {
  const Original original = *Original::of(block_of("add"));
  EXPECT_FALSE(draft_of(original, "add").lost());
  EXPECT_TRUE(draft_of(original, "pop 2").lost());
}

TEST(Draft, HasFewerRowsThanTapesHaveRoomFor) {
  tensor::Generator random(3);
  for (int i = 0; i < 300; ++i) {
    const Original original = *Original::of(sample_block(random, 1 + random.below(kNodesMax)));
    Draft draft(original);
    for (const Token t : tokens_of(original.block(), original.pool())) {
      const Seen seen = seen_of(draft);
      EXPECT_LE(seen.rows.size(), 64u);
      EXPECT_NE(seen.looked_at, 0u);
      for (const std::int32_t row : seen.rows) EXPECT_LT(static_cast<std::size_t>(row), feature::kCount);
      if (!draft.legal(t)) break;
      draft.take(t);
    }
  }
}

}  // namespace
}  // namespace trident::tir::neural
