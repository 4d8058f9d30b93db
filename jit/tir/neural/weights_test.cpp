// Oracles: the counts of the plan, bytes changed on purpose.
#include "jit/tir/neural/weights.h"

#include <gtest/gtest.h>

namespace trident::tir::neural {
namespace {

TEST(Weights, AreAsManyAsThePlanCountsAndTheTablesBesides) {
  std::size_t layer = 0, decoder = 0, tables = 0;
  for (const SliceRow& slice : kSlices) {
    const std::size_t count = slice.rows * slice.columns;
    if (slice.name.starts_with("layer0")) layer += count;
    if (slice.name.starts_with("decoder")) decoder += count;
    if (slice.name == "features" || slice.name == "tokens.bias") tables += count;
  }
  // The plan counts one of the feed-forward part's biases and one norm.
  EXPECT_EQ(layer - 64 - 128, 33'024u);
  EXPECT_EQ(decoder, 24'768u);
  EXPECT_EQ(2 * (layer - 64 - 128) + decoder, 90'816u);
  EXPECT_EQ(2 * layer + decoder + tables, kParameterCount);
}

TEST(Weights, GoThroughAFileAndBack) {
  const Weights weights = initial_weights(3);
  const auto file = file_of(weights);
  const auto read = weights_in(file);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, weights);
  EXPECT_EQ(address_of(*read), address_of(weights));
  EXPECT_EQ(initial_weights(3), weights);
  EXPECT_NE(initial_weights(4), weights);
}

TEST(Weights, AnotherWeightIsAnotherAddress) {
  Weights weights = initial_weights(3);
  const auto address = address_of(weights);
  ++weights[70'000];
  EXPECT_NE(address_of(weights), address);
}

TEST(Weights, RefusesOtherFiles) {
  const auto file = file_of(initial_weights(3));
  for (const std::size_t byte : {0u, 4u, 9u}) {
    auto other = file;
    other[byte] ^= std::byte{1};
    EXPECT_FALSE(weights_in(other).ok()) << byte;
  }
  EXPECT_FALSE(weights_in(std::span(file).first(file.size() - 1)).ok());
  EXPECT_FALSE(weights_in({}).ok());
  auto beyond = file;
  beyond[12 + 3] = std::byte{0x10};
  EXPECT_FALSE(weights_in(beyond).ok());
}

TEST(Weights, AreRoundedWithinTheirBounds) {
  EXPECT_EQ(weight_of(1), 65536);
  EXPECT_EQ(weight_of(-0.5), -32768);
  EXPECT_EQ(weight_of(100), kWeightBound - 1);
  EXPECT_EQ(weight_of(-100), 1 - kWeightBound);
}

}  // namespace
}  // namespace trident::tir::neural
