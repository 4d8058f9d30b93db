// Oracle: the compiler's 128-bit integers, divided.
#include "runtime/field/element.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace trident::field {
namespace {

using Wide = unsigned __int128;

std::uint64_t remainder(Wide x) {
  return static_cast<std::uint64_t>(x % kModulus);
}

/// Numbers at which carries and borrows happen, and some anywhere.
std::vector<std::uint64_t> values() {
  std::vector<std::uint64_t> list;
  const std::uint64_t places[] = {0,        kEpsilon,     kEpsilon + 1, 1ull << 63,
                                  kModulus, kModulus / 2, ~0ull,        0xffffffff00000000};
  for (const std::uint64_t place : places)
    for (int offset = -3; offset <= 3; ++offset) list.push_back(place + static_cast<std::uint64_t>(offset));
  std::mt19937_64 random(1);
  for (int i = 0; i < 150; ++i) list.push_back(random() >> (i % 64));
  return list;
}

TEST(Element, ArithmeticIsThatOfIntegersModuloP) {
  for (const std::uint64_t a : values()) {
    const Element x(a);
    const Wide av = remainder(a);
    ASSERT_EQ(x.value(), remainder(a));
    EXPECT_EQ((-x).value(), remainder(kModulus - av));
    EXPECT_EQ(x.is_u32(), av < (Wide{1} << 32));
    for (const std::uint64_t b : values()) {
      const Element y(b);
      const Wide bv = remainder(b);
      ASSERT_EQ((x + y).value(), remainder(av + bv)) << a << " " << b;
      ASSERT_EQ((x - y).value(), remainder(av + kModulus - bv)) << a << " " << b;
      ASSERT_EQ((x * y).value(), remainder(av * bv)) << a << " " << b;
    }
  }
}

TEST(Element, WideIntegersAreReduced) {
  for (const std::uint64_t high : values())
    for (const std::uint64_t low : values()) {
      const Wide x = static_cast<Wide>(high) << 64 | low;
      ASSERT_EQ(Element::reduced(x).value(), remainder(x)) << high << " " << low;
    }
}

TEST(Element, InversesAreInverse) {
  EXPECT_EQ(inverse(kZero), kZero);
  EXPECT_EQ(inverse(Element(65536)).value(), 18446462594437939201u);
  for (const std::uint64_t a : values())
    if (!Element(a).is_zero()) {
      ASSERT_EQ(inverse(Element(a)) * Element(a), kOne) << a;
    }
}

TEST(Element, PowersAreRepeatedProducts) {
  for (const std::uint64_t a : values()) {
    Element product = kOne;
    for (std::uint64_t n = 0; n < 20; ++n, product *= Element(a))
      ASSERT_EQ(power(Element(a), n), product) << a << " " << n;
    EXPECT_EQ(power(Element(a), kModulus), Element(a));
  }
}

static_assert(inverse(Element(2)) == Element((kModulus + 1) / 2));

}  // namespace
}  // namespace trident::field
