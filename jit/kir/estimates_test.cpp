// Oracle: the root in f64, whose own error is 2^-29 ulp of an f32.
#include "jit/kir/estimates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tests/support/random.h"

namespace trident::kir {
namespace {

/// Returns the error of `value`, an f32, in ulps of the normal `correct`.
double ulps_off(float value, double correct) {
  int exponent = 0;
  std::frexp(correct, &exponent);
  return std::fabs(static_cast<double>(value) - correct) / std::ldexp(1.0, exponent - 24);
}

struct Worst {
  double root = 0, inverse = 0;
  void take(std::uint32_t bits) {
    const auto x = std::bit_cast<float>(bits);
    const double correct = std::sqrt(static_cast<double>(x));
    root = std::max(root, ulps_off(sqrt14(x), correct));
    inverse = std::max(inverse, ulps_off(rsqrt14(x), 1 / correct));
  }
  void expect_stated() const {
    EXPECT_LE(root, 1.1);
    EXPECT_LE(inverse, 1.1);
  }
};

// Multiplying x by 4 moves exponents alone, so two binades show every significand there is.
TEST(Estimates, EverySignificandIsWithinTheStatedError) {
  Worst worst;
  for (std::uint32_t bits = 0x3F80'0000u; bits < 0x4080'0000u; ++bits) worst.take(bits);
  worst.expect_stated();
  RecordProperty("sqrt14_ulp", std::to_string(worst.root));
  RecordProperty("rsqrt14_ulp", std::to_string(worst.inverse));
}

TEST(Estimates, EveryBinadeIsWithinTheStatedErrorSubnormalsToo) {
  Worst worst;
  testing::Random random(1);
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent)
    for (int i = 0; i < 2000; ++i) worst.take(std::max(1u, exponent << 23 | random.below(1u << 23)));
  for (const std::uint32_t bits : {1u, 2u, 3u, 0x7F'FFFFu, 0x80'0000u, 0x7F7F'FFFFu}) worst.take(bits);
  worst.expect_stated();
}

TEST(Estimates, SpecialOperandsGiveWhatTheRootsGive) {
  EXPECT_EQ(std::bit_cast<std::uint32_t>(sqrt14(0.0f)), 0u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(sqrt14(-0.0f)), 0x8000'0000u);
  EXPECT_EQ(sqrt14(HUGE_VALF), HUGE_VALF);
  EXPECT_EQ(rsqrt14(0.0f), HUGE_VALF);
  EXPECT_EQ(rsqrt14(-0.0f), -HUGE_VALF);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(rsqrt14(HUGE_VALF)), 0u);
  for (const float x : {-1.0f, -HUGE_VALF, -std::numeric_limits<float>::denorm_min(), std::nanf("")}) {
    EXPECT_TRUE(std::isnan(sqrt14(x))) << x;
    EXPECT_TRUE(std::isnan(rsqrt14(x))) << x;
  }
}

}  // namespace
}  // namespace trident::kir
