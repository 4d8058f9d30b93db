#include "runtime/os/simd_level.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "runtime/os/level_variants.h"

namespace trident::os {
namespace {

constexpr int kFirst = 1, kSecond = 2, kThird = 3;
constexpr LevelVariant<int> kVariants[] = {
    {SimdLevel::portable, &kFirst}, {SimdLevel::avx2, &kSecond}, {SimdLevel::avx512vnni, &kThird}};

TEST(SimdLevel, ALevelRunsWhereTheNextOneDoes) {
  EXPECT_TRUE(runs_here(SimdLevel::portable));
  std::set<std::string> names;
  bool last = true;
  for (const SimdLevel level : kSimdLevels) {
    EXPECT_TRUE(last || !runs_here(level)) << name_of(level);
    last = runs_here(level);
    EXPECT_TRUE(names.insert(name_of(level)).second);
  }
}

TEST(LevelVariants, AVariantIsOfExactlyItsLevel) {
  EXPECT_EQ(variant_at(kVariants, SimdLevel::portable), &kFirst);
  EXPECT_EQ(variant_at(kVariants, SimdLevel::avx2), runs_here(SimdLevel::avx2) ? &kSecond : nullptr);
  EXPECT_EQ(variant_at(kVariants, SimdLevel::avx512), nullptr);
}

TEST(LevelVariants, TheBestIsTheLastThatRuns) {
  const int* best = runs_here(SimdLevel::avx512vnni) ? &kThird : runs_here(SimdLevel::avx2) ? &kSecond : &kFirst;
  EXPECT_EQ(best_variant(kVariants).table, best);
}

}  // namespace
}  // namespace trident::os
