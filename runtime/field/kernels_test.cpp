// Every level that this machine has against single elements, and its Tip5 against the rounds that the library of
// Triton VM went through.
#include "runtime/field/kernels.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "runtime/field/element.h"
#include "tests/support/unpacked.h"

namespace trident::field {
namespace {

std::vector<Level> levels() {
  std::vector<Level> found;
  for (const Level level : kLevels)
    if (available(level)) found.push_back(level);
  return found;
}

std::uint64_t draw(std::mt19937_64& random) {
  constexpr std::uint64_t kEdges[] = {0,           1, kEpsilon - 1, kEpsilon, kEpsilon + 1, kModulus / 2, kModulus - 2,
                                      kModulus - 1};
  const std::uint64_t kind = random();
  return kind % 3 == 0   ? kEdges[kind / 3 % std::size(kEdges)]
         : kind % 3 == 1 ? kEpsilon << (random() % 32)
                         : random() % kModulus;
}

TEST(FieldKernels, EveryLevelIsArithmeticModuloP) {
  std::mt19937_64 random(1);
  for (const Level level : levels()) {
    const Kernels& k = kernels(level);
    for (std::size_t count = 0; count < 200; ++count) {
      std::vector<std::uint64_t> a(count), b(count), sum(count), difference(count), product(count);
      for (std::size_t i = 0; i < count; ++i) a[i] = draw(random), b[i] = draw(random);
      k.add(sum.data(), a.data(), b.data(), count);
      k.subtract(difference.data(), a.data(), b.data(), count);
      k.multiply(product.data(), a.data(), b.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        const Element x(a[i]), y(b[i]);
        ASSERT_EQ(sum[i], (x + y).value()) << name_of(level) << " " << a[i] << " " << b[i];
        ASSERT_EQ(difference[i], (x - y).value()) << name_of(level) << " " << a[i] << " " << b[i];
        ASSERT_EQ(product[i], (x * y).value()) << name_of(level) << " " << a[i] << " " << b[i];
      }
      k.multiply(a.data(), a.data(), b.data(), count);  // in place
      ASSERT_EQ(a, product);
    }
  }
}

struct alignas(64) State {
  std::uint64_t word[kTip5Width];
};

TEST(FieldKernels, EveryLevelIsTip5) {
  const auto vectors = nlohmann::json::parse(test::unpacked("tests/tir/oracles/data_vectors.json.xz"));
  ASSERT_EQ(vectors["tip5_permutation"].size(), 8u);
  for (const Level level : levels())
    for (const auto& row : vectors["tip5_permutation"]) {
      State s;
      for (unsigned i = 0; i < kTip5Width; ++i) s.word[i] = row["in"][i];
      Tip5Lookups lookups;
      kernels(level).tip5(s.word, lookups);
      for (unsigned i = 0; i < kTip5Width; ++i) EXPECT_EQ(s.word[i], row["rounds"][kTip5Rounds][i]) << name_of(level);
      for (unsigned round = 0; round < kTip5Rounds; ++round)
        for (unsigned i = 0; i < kTip5LookedUp; ++i) {
          const Element value(row["rounds"][round][i].get<std::uint64_t>());
          EXPECT_EQ(lookups.word[round][i], (value * Element(kEpsilon)).value()) << name_of(level);
        }
    }
}

TEST(FieldKernels, LevelsAgreeOnTip5) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 3000; ++i) {
    State start;
    for (std::uint64_t& w : start.word) w = draw(random);
    State expected = start;
    Tip5Lookups expected_lookups;
    kernels(Level::portable).tip5(expected.word, expected_lookups);
    for (const Level level : levels()) {
      State s = start;
      Tip5Lookups lookups;
      kernels(level).tip5(s.word, lookups);
      ASSERT_EQ(0, memcmp(&s, &expected, sizeof s)) << name_of(level);
      ASSERT_EQ(0, memcmp(&lookups, &expected_lookups, sizeof lookups)) << name_of(level);
    }
  }
}

}  // namespace
}  // namespace trident::field
