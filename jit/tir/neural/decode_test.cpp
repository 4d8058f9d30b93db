// Oracles: the greedy draft for the beam, the reader of tokens for written blocks, the library's logarithm.
#include "jit/tir/neural/decode.h"

#include <gtest/gtest.h>

#include <cmath>

#include "jit/tir/neural/sample_blocks.h"

namespace trident::tir::neural {
namespace {

std::vector<Original> some_originals(std::size_t count) {
  tensor::Generator random(31);
  std::vector<Original> originals;
  for (std::size_t i = 0; i < count; ++i) originals.push_back(*Original::of(sample_block(random, 1 + i % 12)));
  return originals;
}

TEST(Decode, LogarithmsAreWithinTwoUnits) {
  tensor::Generator random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t x = 1 + (random.next() >> (16 + random.below(48)));
    ASSERT_NEAR(static_cast<double>(log_of(x)), 65536 * std::log(static_cast<double>(x) * 0x1p-24), 2) << x;
  }
}

TEST(Decode, ABeamIsNeverWorseThanTheGreedyDraft) {
  Network network(initial_weights(5));
  int better = 0, ended = 0;
  for (const Original& original : some_originals(24)) {
    const auto greedy = decode(network, original, {.tokens_max = 12});
    const auto beam = decode(network, original, {.width = 8, .tokens_max = 12});
    if (greedy.empty()) continue;
    ++ended;
    ASSERT_FALSE(beam.empty());
    EXPECT_GE(beam[0].score, greedy[0].score);
    better += beam[0].score > greedy[0].score ? 1 : 0;
    for (std::size_t i = 1; i < beam.size(); ++i) EXPECT_GE(beam[i - 1].score, beam[i].score);
    EXPECT_LT(beam[0].score, 0);
  }
  EXPECT_GT(ended, 8);
  EXPECT_GT(better, 4);
}

TEST(Decode, BlocksSideBySideAreWhatTheyAreAlone) {
  Network network(initial_weights(6));
  const std::vector<Original> originals = some_originals(20);
  const auto drafts = decode_greedily(network, originals, {.tokens_max = 20});
  for (std::size_t i = 0; i < originals.size(); ++i) {
    const auto alone = decode(network, originals[i], {.tokens_max = 20});
    ASSERT_EQ(alone.empty(), !drafts[i].ended());
    if (alone.empty()) continue;
    EXPECT_EQ(alone[0].block, drafts[i].instructions());
    EXPECT_LE(drafts[i].tokens().size(), 20u);
  }
}

TEST(Decode, WritesOnlyWhatMayStandInABlock) {
  Network network(initial_weights(7));
  for (const Original& original : some_originals(12)) {
    for (const Candidate& c : decode(network, original, {.width = 6})) {
      AbstractState state;
      Step step;
      for (const Instruction& i : c.block) {
        EXPECT_TRUE(tasm::legal_argument(tasm::row(i.op).argument, i.argument));
        ASSERT_TRUE(state.run(i, 0, step));
      }
      EXPECT_EQ(c.reached, state.same(original.end()));
    }
  }
}

TEST(Decode, CanBeHeldToEndWhereTheOriginalEnds) {
  Network network(initial_weights(8));
  const Original nothing = *Original::of(std::vector<Instruction>{{tasm::Op::kNop, {}}, {tasm::Op::kNop, {}}});
  const auto candidates = decode(network, nothing, {.width = 256, .tokens_max = 4, .end_when_reached = true});
  ASSERT_FALSE(candidates.empty());
  for (const Candidate& c : candidates) EXPECT_TRUE(c.reached);
}

TEST(Decode, MeasuresWithAsManyTokensAsAreAskedFor) {
  Network network(initial_weights(9));
  for (const Draft& draft : decode_greedily(network, some_originals(6), {.tokens_max = 16, .tokens_min = 15}))
    EXPECT_EQ(draft.tokens().size(), 16u);
}

}  // namespace
}  // namespace trident::tir::neural
