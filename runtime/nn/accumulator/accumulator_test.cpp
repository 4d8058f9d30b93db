// Blocks of weights that are refused, and sums of rows against plain arithmetic.
#include "runtime/nn/accumulator/accumulator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

namespace trident::nn {
namespace {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

constexpr FeatureSpace kSpace{500, 0x1234'5678'9ABC'DEF0u};

PlainWeights random_weights(std::uint32_t seed) {
  Random random(seed);
  PlainWeights w;
  w.space = kSpace;
  for (std::uint32_t f = 0; f < 300; ++f) w.order.push_back(f * 7 % 500);
  w.rows.resize(w.order.size() * kLanes);
  for (auto& lane : w.rows) lane = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  for (auto& lane : w.bias) lane = static_cast<std::int32_t>(random() % 2000) - 1000;
  for (auto& head : w.heads)
    for (auto& lane : head.w1) lane = static_cast<std::int8_t>(random());
  w.heads[1].bias.assign(5, {});
  for (auto& row : w.heads[1].bias) row.fill(static_cast<std::int32_t>(random() % 1000));
  return w;
}

/// A copy that lies where weights may lie.
struct Block {
  std::vector<simd::NodeVector> memory;
  std::size_t size;
  explicit Block(const std::vector<std::byte>& bytes)
      : memory(bytes.size() / sizeof(simd::NodeVector) + 1), size(bytes.size()) {
    std::memcpy(static_cast<void*>(memory.data()), bytes.data(), size);
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(memory.data()); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span(memory)).first(size); }
};

std::string refusal(const Block& block, const FeatureSpace& space = kSpace) {
  const auto made = AccumulatorWeights::view(block.bytes(), space);
  if (made.ok()) return {};
  EXPECT_EQ(ErrorCode::kRejectedRecord, made.error().code);
  return made.error().message;
}

TEST(Weights, HasItsRowsWhereFeaturesAre) {
  const PlainWeights plain = random_weights(1);
  const auto weights = AccumulatorWeights::make(plain);
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_EQ(300u, weights->stored_rows());
  for (std::uint32_t r = 0; r < plain.order.size(); ++r) {
    EXPECT_EQ(r, weights->row(plain.order[r]));  // hot ones side by side
    EXPECT_EQ(0, std::memcmp(weights->rows() + r * kLanes, plain.rows.data() + r * kLanes, kLanes));
  }
  std::size_t zeros = 0;
  for (std::uint32_t f = 0; f < kSpace.features; ++f) {
    const std::int8_t* row = weights->rows() + weights->row(f) * kLanes;
    zeros += weights->row(f) == 300 && std::all_of(row, row + kLanes, [](std::int8_t w) { return w == 0; });
  }
  EXPECT_EQ(200u, zeros);
  for (std::size_t l = 0; l < kLanes; ++l) {
    EXPECT_EQ(plain.bias[l], weights->bias().lane[l]);
    EXPECT_EQ(plain.heads[1].w1[3 * kLanes + l], weights->head(HeadKind::guide).w1[l / 4][3][l % 4]);
  }
  EXPECT_EQ(5u, weights->bias_rows(HeadKind::guide));
  EXPECT_EQ(plain.heads[1].bias[4][7], weights->bias_row(HeadKind::guide, 4)[7]);
}

LinearGuess some_base() {
  LinearGuess base;
  for (std::size_t k = 0; k < kScalars; ++k) base.per_scalar[k] = 0.25f * static_cast<float>(k) - 1;
  base.constant = -3.5f, base.margin = 0.125f;
  return base;
}

// Blocks of version 3, without a base, are what they always were.
TEST(Weights, HaveTheBaseThatTheyWerePackedWith) {
  PlainWeights plain = random_weights(1);
  const auto without = AccumulatorWeights::make(plain);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(nullptr, without->linear_guess());
  const auto shorter = AccumulatorWeights::pack(plain);
  plain.linear_guess = some_base();
  const auto block = AccumulatorWeights::pack(plain);
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(shorter->size() + sizeof(LinearGuess), block->size());
  std::uint32_t versions[2];
  std::memcpy(&versions[0], shorter->data() + 8, 4);
  std::memcpy(&versions[1], block->data() + 8, 4);
  EXPECT_EQ(3u, versions[0]);
  EXPECT_EQ(4u, versions[1]);
  const auto with = AccumulatorWeights::copy(*block, kSpace);
  ASSERT_TRUE(with.ok());
  ASSERT_NE(nullptr, with->linear_guess());
  EXPECT_EQ(some_base(), *with->linear_guess());
  EXPECT_EQ(0, std::memcmp(with->rows(), without->rows(), 301 * kLanes));
}

TEST(Weights, EveryByteCounts) {
  PlainWeights plain = random_weights(2);
  plain.linear_guess = some_base();
  const auto packed = AccumulatorWeights::pack(plain);
  ASSERT_TRUE(packed.ok());
  Block block(*packed);
  ASSERT_EQ("", refusal(block));
  Random random(3);
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::size_t at = i < 256   ? i
                           : i < 400 ? block.size - 1 - (i - 256) % sizeof(LinearGuess)
                                     : random() % block.size;
    block.data()[at] ^= std::byte{static_cast<unsigned char>(1u << random() % 8)};
    EXPECT_NE("", refusal(block)) << "byte " << at;
    std::memcpy(block.data(), packed->data(), block.size);
  }
}

TEST(Weights, RefusesOtherFeaturesAndSizesWithAReason) {
  const auto packed = AccumulatorWeights::pack(random_weights(2));
  ASSERT_TRUE(packed.ok());
  Block block(*packed);
  EXPECT_NE(std::string::npos, refusal(block, {500, 1}).find("made for other features"));
  EXPECT_NE(std::string::npos, refusal(block, {501, kSpace.hash}).find("number of features is 500, expected 501"));
  block.size -= 1;
  EXPECT_NE(std::string::npos, refusal(block).find("the size is"));
  block.size = 10;
  EXPECT_NE("", refusal(block));
}

TEST(Weights, RefusesToPackWhatDoesNotFit) {
  const auto complaint = [](auto change) {
    PlainWeights w = random_weights(4);
    change(w);
    const auto packed = AccumulatorWeights::pack(w);
    return packed.ok() ? std::string() : packed.error().message;
  };
  EXPECT_EQ("", complaint([](PlainWeights&) {}));
  EXPECT_NE("", complaint([](PlainWeights& w) { w.rows[5] = -128; }));
  EXPECT_NE("", complaint([](PlainWeights& w) { w.order[1] = w.order[0]; }));
  EXPECT_NE("", complaint([](PlainWeights& w) { w.order[1] = 500; }));
  EXPECT_NE("", complaint([](PlainWeights& w) { w.rows.pop_back(); }));
  EXPECT_NE("", complaint([](PlainWeights& w) { w.heads[0].shift = 25; }));
  EXPECT_NE("", complaint([](PlainWeights& w) { w.heads[0].bias[0][3] = 1 << 25; }));
  EXPECT_NE("", complaint([](PlainWeights& w) { w.heads[0].bias.clear(); }));
  EXPECT_NE("", complaint([](PlainWeights& w) { w.pool_factor = 0; }));
  EXPECT_EQ("", complaint([](PlainWeights& w) { w.linear_guess = some_base(); }));
  EXPECT_NE("", complaint([](PlainWeights& w) { w.linear_guess = some_base(), w.linear_guess->constant = 1e30f; }));
  EXPECT_NE("", complaint([](PlainWeights& w) { w.linear_guess = some_base(), w.linear_guess->per_scalar[3] = NAN; }));
  EXPECT_NE("", complaint([](PlainWeights& w) { w.linear_guess = some_base(), w.linear_guess->margin = -1; }));
}

TEST(Weights, AreMappedFromAFile) {
  const PlainWeights plain = random_weights(5);
  const auto packed = AccumulatorWeights::pack(plain);
  ASSERT_TRUE(packed.ok());
  const std::string path =
      testing::TempDir() + "trident_nn_weights_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(packed->data()), static_cast<std::streamsize>(packed->size()));
  const auto mapped = AccumulatorWeights::map(path, kSpace);
  std::remove(path.c_str());
  ASSERT_TRUE(mapped.ok()) << mapped.error().message;
  EXPECT_EQ(0, std::memcmp(mapped->rows(), plain.rows.data(), plain.rows.size()));
  EXPECT_EQ(ErrorCode::kNotFound, AccumulatorWeights::map(path, kSpace).error().code);
}

TEST(Weights, WhatLiesBehindABlock) {
  PlainWeights plain = random_weights(6);
  plain.linear_guess = LinearGuess{};  // with which a block does not end at a multiple of 64
  const auto block = AccumulatorWeights::pack(plain), other = AccumulatorWeights::pack(random_weights(7));
  ASSERT_TRUE(block.ok() && other.ok());
  ASSERT_NE(block->size() % 64, 0u);
  const auto behind = [](const std::vector<std::byte>& bytes) {
    const Block aligned(bytes);
    const auto weights = AccumulatorWeights::view(aligned.bytes(), kSpace);
    CHECK(weights.ok());
    return std::vector<std::byte>(weights->behind().begin(), weights->behind().end());
  };
  EXPECT_TRUE(behind(*block).empty());
  std::vector<std::byte> both = *block;
  both.resize(block->size() + 5000);  // the rest of a page
  EXPECT_TRUE(behind(both).empty());
  const std::size_t next = (block->size() + 63) / 64 * 64;
  both.resize(next);
  both.insert(both.end(), other->begin(), other->end());
  EXPECT_EQ(behind(both), *other);
  // Any byte: at once behind the block, before the next multiple of 64, or far behind.
  for (const std::size_t at : {block->size(), next - 1, next, next + 5000}) {
    std::vector<std::byte> longer = *block;
    longer.resize(at + 1);
    longer[at] = std::byte{1};
    ASSERT_FALSE(behind(longer).empty()) << at;
    EXPECT_EQ(behind(longer).back(), std::byte{1}) << at;
  }
}

TEST(Weights, HotFeaturesComeFirst) {
  const std::vector<std::uint64_t> hits = {0, 5, 9, 0, 5, 1};
  EXPECT_EQ((std::vector<std::uint32_t>{2, 1, 4, 5}), hot_first(hits));
}

TEST(Weights, PoolsAreMeansThatDoNotOverflow) {
  PlainWeights plain = random_weights(6);
  plain.pool_factor = 200'000;
  const auto weights = AccumulatorWeights::make(plain);
  ASSERT_TRUE(weights.ok());
  for (const std::uint32_t nodes : {1u, 2u, 3u, 100u, 1023u, 1024u, 5000u, 150'000u, 1'000'000u}) {
    const simd::Pool pool = weights->pool(nodes);
    EXPECT_EQ(std::max(200'000u / nodes, 1u), static_cast<std::uint32_t>(pool.factor));
    const std::int64_t bound = pool.bound;
    EXPECT_GE((bound * pool.factor) >> 16, 127);
    EXPECT_LT(((bound - 1) * pool.factor) >> 16, 127);
  }
}

TEST(Movement, IsTheSumOfItsParts) {
  const PlainWeights plain = random_weights(7);
  const auto weights = AccumulatorWeights::make(plain);
  ASSERT_TRUE(weights.ok());
  Random random(8);
  std::vector<NodeVector> vectors(20);
  for (auto& v : vectors)
    for (auto& lane : v.lane) lane = static_cast<std::int16_t>(static_cast<int>(random() % 3000) - 1500);
  const auto row = [&](std::uint32_t feature, std::size_t lane) -> std::int64_t {
    const auto at = std::find(plain.order.begin(), plain.order.end(), feature);
    return at == plain.order.end() ? 0 : plain.rows[static_cast<std::size_t>(at - plain.order.begin()) * kLanes + lane];
  };
  std::size_t unfit = 0, large = 0;
  for (int round = 0; round < 100; ++round) {
    Movement movement(*weights);
    std::vector<std::int64_t> expected(kLanes);
    std::int64_t gained = 0;
    // One round in four leans to one side until int16 cannot hold it.
    const std::uint32_t lean = round % 4 == 0 ? 1 : 2, rows = random() % (round % 4 == 0 ? 900 : 400);
    for (std::uint32_t i = 0; i < rows; ++i) {
      const std::uint32_t f = round % 4 == 0 ? plain.order[0] : random() % 500;
      const bool plus = random() % lean == 0;
      plus ? movement.add(f) : movement.take(f);
      gained += plus ? 1 : -1;
      for (std::size_t l = 0; l < kLanes; ++l) expected[l] += plus ? row(f, l) : -row(f, l);
    }
    for (const NodeVector& v : vectors) {
      if (random() % 4 != 0) continue;
      const bool plus = random() % 2 == 0;
      plus ? movement.add(v, 12) : movement.take(v, 12);
      gained += plus ? 12 : -12;
      for (std::size_t l = 0; l < kLanes; ++l) expected[l] += plus ? v.lane[l] : -v.lane[l];
    }
    large += movement.rows() > simd::kRowsMax;
    EXPECT_EQ(gained, movement.rows_gained());
    Accumulator sum = weights->bias();
    movement.apply(sum);
    NodeVector vector;
    const bool fits = movement.sum(vector);
    bool should = true;
    for (std::size_t l = 0; l < kLanes; ++l) {
      ASSERT_EQ(plain.bias[l] + expected[l], sum.lane[l]);
      should = should && expected[l] >= -32768 && expected[l] <= 32767;
    }
    EXPECT_EQ(should, fits);
    unfit += !fits;
    for (std::size_t l = 0; fits && l < kLanes; ++l) ASSERT_EQ(expected[l], vector.lane[l]);
  }
  EXPECT_GT(large, 10u);
  EXPECT_GT(unfit, 5u);
}

}  // namespace
}  // namespace trident::nn
