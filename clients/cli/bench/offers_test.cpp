// Offers at times made up by hand.
#include "clients/cli/bench/offers.h"

#include <gtest/gtest.h>

namespace trident::cli {
namespace {

constexpr std::byte kOne[] = {std::byte{1}, std::byte{2}}, kTwo[] = {std::byte{1}, std::byte{3}};
constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(Offers, TheFirstOfAnyAndTheFirstOfTheLastImageCount) {
  Offers offers;
  offers.take(kOne, 2 * kSecond);
  offers.take(kTwo, 3 * kSecond);
  offers.take(kTwo, 5 * kSecond);
  EXPECT_DOUBLE_EQ(offers.first_s(), 2);
  EXPECT_DOUBLE_EQ(offers.last_s(), 3);
  EXPECT_TRUE(offers.is_last(kTwo));
  EXPECT_FALSE(offers.is_last(kOne));
  offers.take(kOne, 7 * kSecond);
  EXPECT_DOUBLE_EQ(offers.first_s(), 2);
  EXPECT_DOUBLE_EQ(offers.last_s(), 7);
}

TEST(Offers, NoneIsNoImage) {
  const Offers offers;
  EXPECT_FALSE(offers.any());
  EXPECT_FALSE(offers.is_last({}));
}

}  // namespace
}  // namespace trident::cli
