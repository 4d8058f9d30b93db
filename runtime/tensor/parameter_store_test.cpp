// Oracle: alignment, bounds and sameness, by looking at addresses; published values of SplitMix64 and FNV-1a.
#include "runtime/tensor/parameter_store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "runtime/tensor/arena.h"
#include "runtime/tensor/generator.h"

namespace trident::tensor {
namespace {

TEST(Arena, PiecesAreAlignedZeroedApartAndStay) {
  Arena arena(4096);
  std::vector<std::pair<float*, std::size_t>> pieces;
  for (std::size_t i = 1; i < 300; ++i) {
    const std::size_t count = i % 7 == 0 ? 5000 : i;
    float* piece = arena.take<float>(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % kAlignment, 0u);
    for (std::size_t k = 0; k < count; ++k) {
      ASSERT_EQ(piece[k], 0.0f);
      piece[k] = static_cast<float>(i);
    }
    pieces.emplace_back(piece, count);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t k = 0; k < pieces[i].second; ++k) ASSERT_EQ(pieces[i].first[k], static_cast<float>(i + 1));
  }
  EXPECT_EQ(arena.pieces(), 299u);
}

TEST(Generator, IsThePublishedMix) {
  // SplitMix64's first outputs for seed 1234567 (Vigna's splitmix64.c).
  EXPECT_EQ(mix(1234567), 6457827717110365317u);
  EXPECT_EQ(mix(1234567 + 0x9e3779b97f4a7c15u), 3203168211198807973u);
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cu);  // FNV-1a's published value
}

TEST(Generator, BelowIsWithinBoundsAndEven) {
  Generator generator(5);
  int counts[7] = {};
  for (int i = 0; i < 70000; ++i) ++counts[generator.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(Generator, ContinuesFromItsCounter) {
  Generator whole(9, 3);
  for (int i = 0; i < 10; ++i) whole.next();
  Generator resumed(9, 3, whole.counter());
  EXPECT_EQ(resumed.next(), whole.next());
}

TEST(ParameterStore, SlicesAreAlignedApartAndDoNotMove) {
  ParameterStore<float> store(1);
  const std::size_t w = store.declare("w", {5, 7}, SliceKind::weight, Initialiser::he_uniform, 5, 7);
  float* before = store.values(store.slices()[w]).data();
  const std::size_t b = store.declare("b", {7}, SliceKind::bias, Initialiser::zeros);
  EXPECT_EQ(store.values(store.slices()[w]).data(), before);
  EXPECT_EQ(store.slices()[b].offset % 16, 0u);
  EXPECT_GE(store.slices()[b].offset, 35u);
  EXPECT_EQ(store.declare("w", {5, 7}, SliceKind::weight, Initialiser::zeros), w) << "the same name is the same slice";
  for (const float value : store.values(store.slices()[b])) EXPECT_FALSE(value != 0 || std::signbit(value));
  double largest = 0;
  for (const float value : store.values(store.slices()[w]))
    largest = std::max(largest, std::fabs(static_cast<double>(value)));
  EXPECT_LE(largest, std::sqrt(6.0 / 5));
  EXPECT_GT(largest, std::sqrt(6.0 / 5) * 0.8);
  for (std::size_t i = 35; i < store.slices()[b].offset; ++i) EXPECT_EQ(store.flat()[i], 0.0f) << "padding";
}

TEST(ParameterStore, FirstValuesDependOnSeedAndNameOnly) {
  ParameterStore<float> one(1), two(1), other(2);
  one.declare("a", {9}, SliceKind::weight, Initialiser::xavier_uniform, 9, 1);
  for (auto* store : {&one, &two, &other})
    store->declare("b", {9}, SliceKind::weight, Initialiser::xavier_uniform, 9, 1);
  const auto values = [](ParameterStore<float>& store) { return store.values(*store.find("b")); };
  EXPECT_EQ(std::memcmp(values(one).data(), values(two).data(), 36), 0);
  EXPECT_NE(std::memcmp(values(one).data(), values(other).data(), 36), 0);
  EXPECT_NE(std::memcmp(values(one).data(), one.values(*one.find("a")).data(), 36), 0);
}

TEST(RowTable, RowsHoldTheirPlanesSideBySide) {
  ParameterStore<float> store(1);
  RowTable<float>& table = store.declare_rows("t", 100, 20, 3, 0.5f);
  EXPECT_EQ(table.plane_stride(), 32u);
  EXPECT_EQ(table.row(1) - table.row(0), 96);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table.row(3)) % kAlignment, 0u);
  for (std::size_t r = 0; r < 100; ++r) {
    for (std::size_t c = 0; c < 20; ++c) ASSERT_LE(std::fabs(table.row(r)[c]), 0.5f);
    for (std::size_t c = 20; c < 96; ++c) ASSERT_EQ(table.row(r)[c], 0.0f);
  }
  EXPECT_EQ(&store.declare_rows("t", 100, 20, 3, 0.5f), &table);
}

}  // namespace
}  // namespace trident::tensor
