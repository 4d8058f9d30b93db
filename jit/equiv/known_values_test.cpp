// Values of nodes at drawn points. Oracles: the comparison of all their values, flags set one by one.
#include "jit/equiv/known_values.h"

#include <gtest/gtest.h>

#include <string>

#include "jit/equiv/draw.h"
#include "jit/equiv/in_turn.h"

namespace trident::equiv {
namespace {

// Pairs that are equal everywhere, nowhere, and in a share of the points around the one that decides.
TEST(KnownValues, FewPointsAnswerAsAllDo) {
  int equal = 0, different = 0;
  for (int share = 0; share <= 100; ++share) {
    const std::string end = std::to_string(8 - 0.16 * share);  // x is uniform in [-8, 8], or has any exponent
    const auto parsed = expr::parse_infix("x*x - y*y, (x - y)*(x + y) + max(x - " + end + ", 0)");
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    const expr::NodeId a = parsed->outputs[0].node, b = parsed->outputs[1].node;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const auto values = known_values(*parsed, {a, b}, seed);
      const bool all = equal_over_the_reals(values[0], values[1]);
      EXPECT_EQ(are_equal_over_the_reals(*parsed, a, b, seed, kEqualityTolerance), all) << share << ", seed " << seed;
      ++(all ? equal : different);
    }
  }
  EXPECT_GT(equal, 10);
  EXPECT_GT(different, 10);
}

TEST(KnownValues, ReductionsAreNotEqual) {
  const auto parsed = expr::parse_infix("sum(x) + 1");
  ASSERT_TRUE(parsed.ok());
  const expr::NodeId total = parsed->outputs[0].node;
  EXPECT_FALSE(are_equal_over_the_reals(*parsed, total, total, 1, kEqualityTolerance));
}

TEST(SetInTurn, SetsWhatOneByOneSetsAndAsksLess) {
  constexpr std::uint32_t kFlags = 200;
  Random random(3);
  for (const std::uint64_t one_in : {2, 5, 40, 1000}) {
    std::vector<std::uint32_t> list, forbidden;
    for (std::uint32_t flag = 0; flag < kFlags; ++flag) {
      if (random.below(7) != 0) list.push_back(flag);
      if (random.below(one_in) == 0) forbidden.push_back(flag);
    }
    const auto holds_for = [&](const std::vector<bool>& flags) {  // never flag 17 with flag 150 either
      return std::none_of(forbidden.begin(), forbidden.end(), [&](auto flag) { return flags[flag]; }) &&
             !(flags[17] && flags[150]);
    };
    std::vector<bool> one_by_one(kFlags, false), flags(kFlags, false);
    for (const std::uint32_t flag : list) {
      one_by_one[flag] = true;
      one_by_one[flag] = holds_for(one_by_one);
    }
    std::size_t asked = 0;
    set_in_turn(list, flags, [&] { return ++asked, holds_for(flags); });
    EXPECT_EQ(flags, one_by_one) << one_in;
    EXPECT_LE(asked, 2 * list.size()) << one_in;
    if (one_in >= 40) {
      EXPECT_LT(asked, list.size() / 2) << one_in;
    }
  }
}

}  // namespace
}  // namespace trident::equiv
