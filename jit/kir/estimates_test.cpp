// Oracle: roots and quotients in f64, whose own error is 2^-29 ulp of an f32.
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

/// Returns the error in units of u, half an ulp of 1, of `correct`.
double units_off(float value, double correct) {
  return std::fabs(static_cast<double>(value) / correct - 1) * 0x1p24;
}

struct Roots {
  float (*root)(float);
  float (*inverse)(float);
};
constexpr Roots kRoots[] = {{sqrt14, rsqrt14}, {sqrt12, rsqrt12}};

struct Worst {
  double root = 0, inverse = 0;
  void take(const Roots& of, std::uint32_t bits) {
    const auto x = std::bit_cast<float>(bits);
    const double correct = std::sqrt(static_cast<double>(x));
    root = std::max(root, ulps_off(of.root(x), correct));
    inverse = std::max(inverse, ulps_off(of.inverse(x), 1 / correct));
  }
};

// Multiplying x by 4 moves exponents alone, so two binades show every significand there is.
TEST(Estimates, RootsOfEverySignificandAreWithinTheStatedError) {
  for (const Roots& roots : kRoots) {
    Worst worst;
    for (std::uint32_t bits = 0x3F80'0000u; bits < 0x4080'0000u; ++bits) worst.take(roots, bits);
    EXPECT_LE(worst.root, 1.1);
    EXPECT_LE(worst.inverse, 1.1);
  }
}

TEST(Estimates, RootsOfEveryBinadeAreWithinTheStatedErrorSubnormalsToo) {
  for (const Roots& roots : kRoots) {
    Worst worst, subnormal;
    testing::Random random(1);
    for (std::uint32_t exponent = 0; exponent < 255; ++exponent)
      for (int i = 0; i < 2000; ++i)
        (exponent == 0 ? subnormal : worst).take(roots, std::max(1u, exponent << 23 | random.below(1u << 23)));
    for (const std::uint32_t bits : {0x80'0000u, 0x7F7F'FFFFu}) worst.take(roots, bits);
    for (const std::uint32_t bits : {1u, 2u, 3u, 0x7F'FFFFu}) subnormal.take(roots, bits);
    EXPECT_LE(worst.root, 1.1);
    EXPECT_LE(worst.inverse, 1.1);
    EXPECT_LE(subnormal.root, 1.1);
    EXPECT_LE(subnormal.inverse, 1.5);
  }
}

TEST(Estimates, SpecialOperandsGiveWhatTheRootsGive) {
  for (const auto& [root, inverse] : kRoots) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(root(0.0f)), 0u);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(root(-0.0f)), 0x8000'0000u);
    EXPECT_EQ(root(HUGE_VALF), HUGE_VALF);
    EXPECT_EQ(inverse(0.0f), HUGE_VALF);
    EXPECT_EQ(inverse(-0.0f), -HUGE_VALF);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(inverse(HUGE_VALF)), 0u);
    for (const float x : {-1.0f, -HUGE_VALF, -std::numeric_limits<float>::denorm_min(), -0x1p-127f, std::nanf("")}) {
      EXPECT_TRUE(std::isnan(root(x))) << x;
      EXPECT_TRUE(std::isnan(inverse(x))) << x;
    }
  }
}

struct Quotient {
  float (*divide)(float, float);
  double ulps, units;  ///< as estimates.h states them
};
constexpr Quotient kQuotients[] = {{div14, 0.57, 1.07}, {div12, 1.51, 2.01}};

// Dividing or multiplying by 2 moves exponents alone, so one binade shows every significand there is.
TEST(Estimates, QuotientsByEverySignificandAreWithinTheStatedError) {
  for (const auto& [divide, ulps, units] : kQuotients) {
    double most = 0, most_units = 0;
    for (const float a : {1.0f, 0x1.000002p0f, 0x1.5555p0f, 0x1.fffffep0f, 0x1.800002p0f, -0x1.921fb6p0f})
      for (std::uint32_t bits = 0x3F80'0000u; bits < 0x4000'0000u; ++bits) {
        const auto b = std::bit_cast<float>(bits);
        const double correct = static_cast<double>(a) / b;
        const float quotient = divide(a, b);
        most = std::max(most, ulps_off(quotient, correct));
        most_units = std::max(most_units, units_off(quotient, correct));
      }
    EXPECT_LE(most, ulps);
    EXPECT_LE(most_units, units);
  }
}

// Numbers near the ends of what is middle, of what is normal, and of the range; others are drawn.
TEST(Estimates, QuotientsOfAllBinadesAreWithinTheStatedErrorOrExact) {
  testing::Random random(3);
  for (const auto& [divide, ulps, units] : kQuotients)
    for (std::uint32_t e = 0; e < 255; ++e)
      for (std::uint32_t f = 0; f < 255; ++f)
        for (int i = 0; i < 6; ++i) {
          const auto a = std::bit_cast<float>(e << 23 | random.below(i == 0 ? 4u : 1u << 23));
          const auto b = std::bit_cast<float>((f << 23 | random.below(i == 1 ? 4u : 1u << 23)) ^ 0x8000'0000u);
          const float exact = a / b, quotient = divide(a, b);
          if (std::fabs(exact) >= 0x1p-126f && std::isfinite(exact)) {
            ASSERT_LE(ulps_off(quotient, static_cast<double>(a) / b), ulps) << a << " / " << b;
            ASSERT_LE(units_off(quotient, static_cast<double>(a) / b), units) << a << " / " << b;
          } else {
            ASSERT_TRUE(std::isnan(exact)
                            ? std::isnan(quotient)
                            : std::bit_cast<std::uint32_t>(quotient) == std::bit_cast<std::uint32_t>(exact))
                << a << " / " << b;
          }
        }
}

TEST(Estimates, SpecialOperandsGiveTheQuotient) {
  constexpr float kInf = HUGE_VALF, kLeast = std::numeric_limits<float>::denorm_min(),
                  kMost = std::numeric_limits<float>::max();
  constexpr float kSpecial[] = {0.0f,     1.0f,       kInf,     kLeast,  kMost,    0x1p-126f,      0x1.fffffcp-127f,
                                0x1p126f, 0x1.8p127f, 0x1p-40f, 0x1p88f, 0x1p-41f, 0x1.fffffep87f, NAN};
  for (const Quotient& of : kQuotients)
    for (const float x : kSpecial)
      for (const float y : kSpecial)
        for (const float a : {x, -x})
          for (const float b : {y, -y}) {
            const float exact = a / b, quotient = of.divide(a, b);
            if (std::isnan(exact))
              EXPECT_TRUE(std::isnan(quotient)) << a << " / " << b;
            else if (exact == 0 || std::isinf(exact))
              EXPECT_EQ(std::bit_cast<std::uint32_t>(quotient), std::bit_cast<std::uint32_t>(exact)) << a << " / " << b;
            else
              EXPECT_LE(std::fabs(static_cast<double>(quotient) - exact), 0x1p-22 * std::fabs(exact))
                  << a << " / " << b;
          }
}

TEST(Estimates, WhatIsMiddle) {
  for (const float sign : {1.0f, -1.0f}) {
    for (const float x : {0x1p-40f, 1.0f, 0x1.fffffep87f}) EXPECT_TRUE(is_middle(sign * x)) << x;
    for (const float x : {0.0f, 0x1p-149f, 0x1p-126f, 0x1.fffffep-41f, 0x1p88f, 0x1p127f, HUGE_VALF, std::nanf("")})
      EXPECT_FALSE(is_middle(sign * x)) << x;
  }
}

}  // namespace
}  // namespace trident::kir
