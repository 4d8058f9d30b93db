// Oracle: tokens that were written must be read again, for every instruction and argument.
#include "jit/tir/neural/vocabulary.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/tensor/generator.h"

namespace trident::tir::neural {
namespace {

using tasm::Argument;
using tasm::Op;

const ConstantPool kPool = constants_of(std::vector<Instruction>{{Op::kPush, Element(77)},
                                                                 {Op::kAddI, Element(field::kModulus - 9)},
                                                                 {Op::kPush, Element(1)},
                                                                 {Op::kPush, Element(77)}});

void expect_round_trip(const std::vector<Instruction>& block) {
  const auto read = instructions_of(tokens_of(block, kPool), kPool);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, block);
}

TEST(Vocabulary, TokensAreDistinct) {
  std::set<std::string> texts;
  for (std::size_t t = 0; t < kTokenCount; ++t) texts.insert(print(static_cast<Token>(t)));
  EXPECT_EQ(texts.size(), kTokenCount);
  EXPECT_EQ(print(kEnd), "end");
}

TEST(Vocabulary, EveryInstructionWithEveryArgumentIsReadAgain) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < tasm::kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if (!has_token(op)) continue;
    const Argument kind = tasm::row(op).argument;
    for (std::uint64_t a = 0; a <= 70000; ++a) {
      if (a > 16 && kind != Argument::element && kind != Argument::label) break;
      if (!tasm::legal_argument(kind, Element(a))) continue;
      expect_round_trip({{op, Element(a)}});
      ++count;
    }
  }
  EXPECT_EQ(count, 33u + 6 * 5 + 4 * 16 + 3 * 70001);
}

TEST(Vocabulary, EveryConstantCanBeWritten) {
  tensor::Generator random(7);
  std::vector<Element> constants = {Element(77), Element(field::kModulus - 9), field::kMinusOne};
  for (unsigned shift = 0; shift < 64; ++shift) {
    constants.emplace_back(std::uint64_t{1} << shift);
    constants.emplace_back((std::uint64_t{1} << shift) - 1);
    constants.push_back(-Element(std::uint64_t{1} << shift));
  }
  for (int i = 0; i < 20000; ++i) constants.emplace_back(random.next() >> random.below(64));
  for (const Element c : constants)
    for (const Op op : {Op::kPush, Op::kAddI, Op::kCall}) expect_round_trip({{op, c}, {Op::kAdd, {}}, {op, c}});
}

TEST(Vocabulary, ConstantsOfTheBlockAreCopied) {
  ASSERT_EQ(kPool.count, 2u);
  EXPECT_EQ(print(first_token({Op::kAddI, Element(77)}, kPool)), "addi copy 0");
  EXPECT_EQ(print(first_token({Op::kPush, Element(field::kModulus - 9)}, kPool)), "push copy 1");
  EXPECT_EQ(print(first_token({Op::kPush, Element(1)}, kPool)), "push 1");
  EXPECT_EQ(print(first_token({Op::kPush, Element(78)}, kPool)), "push literal");
  EXPECT_EQ(tokens_of(std::vector<Instruction>{{Op::kPush, Element(78)}}, kPool).size(), 4u);
}

TEST(Vocabulary, TheReaderRefusesWhatIsNoBlock) {
  std::vector<Token> literal;
  append_tokens({Op::kPush, Element(0x123)}, {}, literal);
  const Token push = literal[0], one = literal[1], zero = static_cast<Token>(one - 1);
  const Token copy2 = static_cast<Token>(first_token({Op::kPush, Element(77)}, kPool) + 2);
  EXPECT_EQ(print(zero), "digit 0");
  EXPECT_EQ(print(copy2), "push copy 2");
  const auto reads = [](std::vector<Token> tokens) { return instructions_of(tokens, kPool).has_value(); };
  EXPECT_TRUE(reads({kEnd}));
  EXPECT_TRUE(reads({push, zero, kEnd}));
  EXPECT_FALSE(reads({}));
  EXPECT_FALSE(reads({push, one}));
  EXPECT_FALSE(reads({kEnd, kEnd}));
  EXPECT_FALSE(reads({one, kEnd}));
  EXPECT_FALSE(reads({push, kEnd}));
  EXPECT_FALSE(reads({push, push, one, kEnd}));
  EXPECT_FALSE(reads({push, zero, one, kEnd}));
  EXPECT_FALSE(reads({copy2, kEnd}));
  // p - 1 is the largest literal, p is refused at its last digit.
  std::vector<Token> largest;
  append_tokens({Op::kCall, field::kMinusOne}, {}, largest);
  ASSERT_EQ(largest.size(), 17u);
  largest.push_back(kEnd);
  EXPECT_TRUE(reads(largest));
  ++largest[16];
  EXPECT_FALSE(reads(largest));
}

}  // namespace
}  // namespace trident::tir::neural
