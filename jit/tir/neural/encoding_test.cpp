// Oracle: blocks whose words were worked out by hand; the words that differ after a constant is changed.
#include "jit/tir/neural/encoding.h"

#include <gtest/gtest.h>

#include "jit/tir/tasm/program.h"

namespace trident::tir::neural {
namespace {

using tasm::Op;

Encoding encoding_of(const std::string& text) {
  auto encoded = encode(block_of(text));
  CHECK(encoded.ok());
  return *encoded;
}

TEST(Encoding, NodesSayWhoMadeTheirOperands) {
  //                             0     1    2      3   4      5       6
  const Encoding e = encoding_of("dup 1 mul swap 2 lt push 77 read_io 1 add");
  ASSERT_EQ(e.count, 7u);
  const auto input = [&](std::size_t node, std::size_t operand) { return input_field(operand).of(e.word(node, 1)); };
  EXPECT_EQ(input(0, 0), kFirstSlot + 1);
  EXPECT_EQ(input(0, 1), kNoNode);
  EXPECT_EQ(input(1, 0), kFirstSlot + 1);  // a copy refers to its source
  EXPECT_EQ(input(1, 1), kFirstSlot + 0);
  EXPECT_EQ(input(2, 0), 1u);
  EXPECT_EQ(input(2, 1), kFirstSlot + 2);
  EXPECT_EQ(input(3, 0), kFirstSlot + 2);
  EXPECT_EQ(input(3, 1), kFirstSlot + 1);
  EXPECT_EQ(input(6, 0), 5u);
  EXPECT_EQ(input(6, 1), 4u);
}

TEST(Encoding, NodesSayWhatTheyAreAndHowLongTheyLive) {
  const Encoding e = encoding_of("dup 1 mul swap 2 lt push 77 read_io 1 add");
  EXPECT_EQ(node_word0::kOp.of(e.word(1, 0)), static_cast<std::uint64_t>(Op::kMul));
  EXPECT_EQ(node_word0::kType.of(e.word(3, 0)), static_cast<std::uint64_t>(Type::boolean));
  EXPECT_EQ(node_word0::kType.of(e.word(0, 0)), static_cast<std::uint64_t>(Type::none));
  EXPECT_EQ(node_word0::kOperands.of(e.word(2, 0)), 2u);
  EXPECT_EQ(node_word0::kWorks.of(e.word(2, 0)), 0u);
  EXPECT_EQ(node_word0::kWorks.of(e.word(5, 0)), 1u);
  EXPECT_EQ(print(static_cast<Token>(node_word0::kToken.of(e.word(4, 0)))), "push copy 0");
  EXPECT_EQ(e.word(4, 3), 77u);
  EXPECT_EQ(e.word(2, 3), 2u);
  // The product is never used and ends at st2: slot 2 came up for lt, which leaves a bool above it.
  EXPECT_EQ(node_word2::kUses.of(e.word(1, 2)), 0u);
  EXPECT_EQ(node_word2::kFirstUse.of(e.word(1, 2)), kNoNode);
  EXPECT_EQ(node_word2::kPlace.of(e.word(1, 2)), 2u);
  EXPECT_EQ(node_word2::kPlace.of(e.word(3, 2)), 1u);
  EXPECT_EQ(node_word2::kPlace.of(e.word(6, 2)), 0u);
  EXPECT_EQ(node_word2::kFirstUse.of(e.word(5, 2)), 6u);
  EXPECT_EQ(node_word2::kPlace.of(e.word(5, 2)), kNoPlace);
  EXPECT_EQ(node_word2::kHeight.of(e.word(1, 2)), 513u);
  EXPECT_EQ(node_word2::kHeight.of(e.word(4, 2)), 511u);
}

TEST(Encoding, TheContextSaysWhatBecomesOfTheSlots) {
  const Encoding e = encoding_of("dup 1 mul swap 2 lt push 77 read_io 1 add");
  const auto slot = [&](std::size_t s, Field f) { return f.of(e.context[s]); };
  EXPECT_EQ(slot(0, context_word::kUsed), 1u);
  EXPECT_EQ(slot(0, context_word::kFirstUse), 1u);
  EXPECT_EQ(slot(1, context_word::kFirstUse), 1u);
  EXPECT_EQ(slot(1, context_word::kLastUse), 3u);
  EXPECT_EQ(slot(1, context_word::kType), static_cast<std::uint64_t>(Type::u32));
  EXPECT_EQ(slot(0, context_word::kType), static_cast<std::uint64_t>(Type::field));
  EXPECT_EQ(slot(2, context_word::kPlace), kNoPlace);
  EXPECT_EQ(slot(3, context_word::kUsed), 0u);
  EXPECT_EQ(slot(3, context_word::kPlace), 3u);
  EXPECT_EQ(slot(3, context_word::kStays), 1u);
  EXPECT_EQ(slot(0, context_word::kStays), 0u);
  EXPECT_EQ(slot(0, context_word::kHeight), 512u);
  EXPECT_EQ(slot(0, context_word::kNeeds), 3u);
}

TEST(Encoding, TypesComeFromResultsAndUses) {
  const Encoding e = encoding_of("read_mem 1 addi -1 write_mem 1 pop 1 hash merkle_step xx_mul");
  const auto type = [&](std::size_t node) { return static_cast<Type>(node_word0::kType.of(e.word(node, 0))); };
  EXPECT_EQ(type(0), Type::address);
  EXPECT_EQ(type(1), Type::address);
  EXPECT_EQ(type(2), Type::address);
  EXPECT_EQ(type(4), Type::digest);
  EXPECT_EQ(type(5), Type::digest);
  EXPECT_EQ(type(6), Type::extension);
  EXPECT_EQ(static_cast<Type>(context_word::kType.of(e.context[0])), Type::address);
}

TEST(Encoding, EffectsFollowEachOther) {
  const Encoding e =
      encoding_of("read_io 1 write_io 1 divine 1 read_io 1 write_mem 1 addi -1 read_mem 1 dup 5 read_mem 1");
  const auto follows = [&](std::size_t node) { return node_word2::kFollows.of(e.word(node, 2)); };
  EXPECT_EQ(follows(0), kNoNode);
  EXPECT_EQ(follows(1), kNoNode);
  EXPECT_EQ(follows(2), kNoNode);
  EXPECT_EQ(follows(3), 0u);
  EXPECT_EQ(follows(4), kNoNode);
  EXPECT_EQ(follows(6), 4u);  // the word that was written
  EXPECT_EQ(follows(8), 4u);  // a word that may be the same
  const Encoding far = encoding_of("push 7 write_mem 1 push 9 read_mem 1 write_mem 1");
  EXPECT_EQ(node_word2::kFollows.of(far.word(3, 2)), kNoNode);  // surely another word
  EXPECT_EQ(node_word2::kFollows.of(far.word(4, 2)), kNoNode);
}

TEST(Encoding, OnlyDescendantsOfAChangedNodeComputeSomethingElse) {
  const std::string before = "push 70 push 80 push 90 dup 2 mul add pick 1 dup 4 mul read_io 1 add push 3 eq";
  const std::vector<Instruction> block = block_of(before);
  const auto ancestors = encoding_of(before).ancestors();
  const auto works = [](const std::vector<Instruction>& b) {
    std::vector<std::uint64_t> out;
    AbstractState state;
    Step step;
    for (std::size_t k = 0; k < b.size(); ++k) {
      CHECK(state.run(b[k], static_cast<Origin>(k), step));
      out.push_back(step.work_count > 0 ? step.work[0] : 0);
    }
    return out;
  };
  const auto original = works(block);
  int changed = 0;
  for (std::size_t j = 0; j < block.size(); ++j) {
    if (block[j].op != Op::kPush) continue;
    std::vector<Instruction> other = block;
    other[j].argument += Element(1000);
    const auto now = works(other);
    for (std::size_t k = 0; k < block.size(); ++k) {
      if (original[k] == 0) continue;
      EXPECT_EQ(now[k] != original[k], (ancestors[k] >> j & 1) != 0) << "node " << k << ", changed " << j;
      changed += now[k] != original[k] ? 1 : 0;
    }
  }
  EXPECT_GT(changed, 5);
}

TEST(Encoding, RefusesWhatIsNoBlock) {
  EXPECT_TRUE(encode(std::vector<Instruction>(kNodesMax, {Op::kNop, {}})).ok());
  EXPECT_FALSE(encode(std::vector<Instruction>(kNodesMax + 1, {Op::kNop, {}})).ok());
  EXPECT_FALSE(encode(std::vector<Instruction>{{Op::kSkiz, {}}}).ok());
  EXPECT_FALSE(encode(std::vector<Instruction>{{Op::kPop, Element(6)}}).ok());
  // The deepest and the highest block possible.
  EXPECT_TRUE(encode(std::vector<Instruction>(kNodesMax, {Op::kSpongeAbsorb, {}})).ok());
  EXPECT_TRUE(encode(std::vector<Instruction>(kNodesMax, {Op::kSpongeSqueeze, {}})).ok());
}

}  // namespace
}  // namespace trident::tir::neural
