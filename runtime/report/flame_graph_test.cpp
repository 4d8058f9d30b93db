// Oracle: a small tree whose figures are worked out by hand.
#include "runtime/report/flame_graph.h"

#include <gtest/gtest.h>

namespace trident::report {
namespace {

const std::vector<Flame> kTree = {{"begin", 0, 10}, {"left", 0, 40}, {"right", 0, 0}, {"a<b", 2, 50}};

TEST(FlameGraph, TotalsAreOwnAndBelow) {
  EXPECT_EQ((std::vector<std::uint64_t>{100, 40, 50, 50}), totals_of(kTree));
}

TEST(FlameGraph, WidthsAreShares) {
  const std::string svg = flame_svg(kTree, "rows & cycles", "cycles");
  // 1184 pixels for 100: 40 begin at the left edge, then 50, below which are all 50 once more.
  EXPECT_NE(svg.find("left: 40 cycles (40.0 %), 40 of its own</title><rect x='8.00' y='64' width='473.60'"),
            std::string::npos)
      << svg;
  EXPECT_NE(svg.find("right: 50 cycles (50.0 %), 0 of its own</title><rect x='481.60' y='64' width='592.00'"),
            std::string::npos);
  EXPECT_NE(svg.find("a&lt;b: 50 cycles (50.0 %), 50 of its own</title><rect x='481.60' y='84' width='592.00'"),
            std::string::npos);
  EXPECT_NE(svg.find("rows &amp; cycles"), std::string::npos);
}

TEST(FlameGraph, WhatCannotBeSeenIsLeftOut) {
  const std::string svg = flame_svg({{"begin", 0, 1'000'000}, {"speck", 0, 1}}, "t", "rows");
  EXPECT_EQ(svg.find("speck"), std::string::npos);
  EXPECT_NE(flame_svg({{"begin", 0, 0}}, "t", "rows").find("nothing to show"), std::string::npos);
}

}  // namespace
}  // namespace trident::report
