// Oracle: integers of 128 bits, which hold the exact product.
#include "jit/tir/neural/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "runtime/tensor/generator.h"

namespace trident::tir::neural {
namespace {

constexpr std::int64_t kEdges[] = {0, 1, -1, 2, kScale / 2, -kScale / 2, kScale / 2 - 1, kScale, -kScale, kScale + 1};

TEST(FixedPoint, LiftAndLowerAreTheCentredResidue) {
  EXPECT_EQ(lift(field::kMinusOne), -1);
  EXPECT_EQ(lift(Element(field::kModulus / 2)), static_cast<std::int64_t>(field::kModulus / 2));
  EXPECT_EQ(lift(Element(field::kModulus / 2 + 1)), -static_cast<std::int64_t>(field::kModulus / 2));
  tensor::Generator random(1);
  for (int i = 0; i < 10000; ++i) {
    const Element x(random.next());
    const __int128 difference = __int128{lift(x)} - static_cast<__int128>(x.value());
    EXPECT_EQ(difference % static_cast<__int128>(field::kModulus), 0);
    EXPECT_EQ(lower(lift(x)), x);
  }
}

/// Checks |r - a b / 2^16| <= 1/2 in units of r: an error of at most 2^-17, without a division.
bool rounded(std::int64_t r, __int128 product) {
  const __int128 error = __int128{r} * kScale - product;
  return error <= kScale / 2 && error >= -kScale / 2;
}

TEST(FixedPoint, ProductsAreWithinHalfAUnitOfTheExactOnes) {
  const char* const wanted = std::getenv("TRIDENT_TIR_PRODUCTS");
  const std::uint64_t count = wanted == nullptr ? 1'000'000 : std::strtoull(wanted, nullptr, 10);
  tensor::Generator random(2);
  Overflows overflows;
  for (std::uint64_t i = 0; i < count; ++i) {
    // Draws sizes of up to 30 bits, and the edges.
    const auto pick = [&] {
      const std::uint64_t x = random.next();
      if (x % 16 == 0) return kEdges[random.below(std::size(kEdges))];
      return static_cast<std::int64_t>(random.next()) >> (34 + x % 29);
    };
    const std::int64_t a = pick(), b = pick();
    const std::int64_t r = lift(multiply(lower(a), lower(b), overflows));
    ASSERT_TRUE(rounded(r, __int128{a} * b)) << a << " * " << b;
  }
  EXPECT_EQ(overflows.count, 0u);
}

TEST(FixedPoint, HalvesRoundUp) {
  Overflows overflows;
  EXPECT_EQ(rescale(kScale / 2, overflows), 1);
  EXPECT_EQ(rescale(-kScale / 2, overflows), 0);
  EXPECT_EQ(rescale(-kScale / 2 - 1, overflows), -1);
}

TEST(FixedPoint, ADotProductIsRoundedOnce) {
  tensor::Generator random(3);
  for (int turn = 0; turn < 2000; ++turn) {
    Overflows overflows;
    const std::size_t n = 1 + random.below(128);
    std::vector<Element> a(n), b(n);
    const auto bias = static_cast<std::int64_t>(random.below(1 << 20)) - (1 << 19);
    __int128 exact = __int128{bias} * kScale;
    for (std::size_t i = 0; i < n; ++i) {
      const auto x = static_cast<std::int64_t>(random.next()) >> 36, y = static_cast<std::int64_t>(random.next()) >> 40;
      a[i] = lower(x), b[i] = lower(y);
      exact += __int128{x} * y;
    }
    ASSERT_TRUE(rounded(lift(dot(a, b, lower(bias), overflows)), exact));
    EXPECT_EQ(overflows.count, 0u);
  }
}

TEST(FixedPoint, SumsBeyondTheGuardSaturateAndAreCounted) {
  Overflows overflows;
  EXPECT_EQ(rescale(kProductSumMax, overflows), std::int64_t{1} << 46);
  EXPECT_EQ(overflows.count, 0u);
  EXPECT_EQ(rescale(__int128{kProductSumMax} + 1, overflows), std::int64_t{1} << 46);
  EXPECT_EQ(rescale(-__int128{kProductSumMax} - 1, overflows), -(std::int64_t{1} << 46));
  EXPECT_EQ(overflows.count, 2u);
  // Many products of the largest elements, whose sum does not fit 128 bits.
  for (const bool negative : {false, true}) {
    const Element largest(field::kModulus / 2);
    const std::vector<Element> a(64, largest), b(64, negative ? -largest : largest);
    EXPECT_EQ(lift(dot(a, b, {}, overflows)), (negative ? -1 : 1) * (std::int64_t{1} << 46));
  }
  EXPECT_EQ(overflows.count, 4u);
}

/// Multiplies within the field: exact division by 2^16, right only where 2^16 divides the product.
double by_inverse(double a, double b) {
  const Element product = lower(fixed_of(a)) * lower(fixed_of(b)) * field::inverse(Element(std::uint64_t{1} << 16));
  return real_of(lift(product));
}

TEST(FixedPoint, TheInverseOfTheScaleIsNoRounding) {
  EXPECT_EQ(by_inverse(0.5, 0.5), 0.25);
  EXPECT_EQ(by_inverse(1.5, 2.25), 3.375);
  EXPECT_EQ(by_inverse(2, 3), 6);
  EXPECT_NEAR(by_inverse(0.3, 0.5), -1.407e14, 1e11);
  EXPECT_NEAR(by_inverse(0.1, 0.1), -1.238e14, 1e11);
  EXPECT_NEAR(by_inverse(0.7, -0.2), -3.94e13, 1e10);
  Overflows overflows;
  const auto ours = [&](double a, double b) {
    return real_of(lift(multiply(lower(fixed_of(a)), lower(fixed_of(b)), overflows)));
  };
  EXPECT_NEAR(ours(0.3, 0.5), 0.15, 0x1p-15);
  EXPECT_NEAR(ours(0.1, 0.1), 0.01, 0x1p-15);
  EXPECT_NEAR(ours(0.7, -0.2), -0.14, 0x1p-15);
}

}  // namespace
}  // namespace trident::tir::neural
