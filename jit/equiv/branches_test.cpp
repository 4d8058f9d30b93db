// Oracle: small expressions whose branches can be counted by hand.
#include "jit/equiv/branches.h"

#include <gtest/gtest.h>

#include "jit/equiv/samples.h"

namespace trident::equiv {
namespace {

expr::Expr parsed(const std::string& text) {
  auto e =
      expr::parse_infix(text, {.variables = {{"x", expr::Type::f64, expr::VariableKind::array, 1, 2}, {"y"}, {"z"}}});
  CHECK(e.ok());
  return std::move(e).value();
}

TEST(Branches, AnInnerSelectionIsReachedByTheOuterOne) {
  const Branches b = branches_of(parsed("z == 7 ? (y == 3 ? x : 1) : 0"));
  EXPECT_TRUE(b.complete);
  ASSERT_EQ(b.alone, 4u);
  int inner = 0, outer = 0;
  for (std::size_t w = 0; w < b.alone; ++w) {
    const std::vector<Turn>& way = b.ways[w];
    outer += way.size() == 1;
    if (way.size() != 2) continue;
    ++inner;
    EXPECT_EQ(way[0].side, 0) << "behind the condition that holds";
    EXPECT_NE(way[0].node, way[1].node);
  }
  EXPECT_EQ(inner, 2);
  EXPECT_EQ(outer, 2);
  EXPECT_EQ(b.ways.size(), 4u + 4u) << "pairs of one side of each";
}

TEST(Branches, WhatTheRangesExcludeIsNone) {
  EXPECT_EQ(branches_of(parsed("x < 0 ? y : x")).alone, 1u);
  EXPECT_EQ(branches_of(parsed("x + y")).ways.size(), 0u);
}

TEST(Branches, TooManyAreToldNotListed) {
  std::string text = "y";
  for (int i = 0; i < 150; ++i) text = "(z > " + std::to_string(i) + " ? x : " + text + ")";
  const Branches b = branches_of(parsed(text));
  EXPECT_FALSE(b.complete);
  EXPECT_TRUE(b.ways.empty());
}

// Where all variables decide a branch, nothing is left to vary between its sets.
TEST(Branches, NoTwoSetsHaveTheSamePoints) {
  for (const char* const text : {"x*y > z ? x : y", "z > 7 ? y : x"}) {
    const std::vector<Samples> sets = make_samples(parsed(text), {.points = 2048, .seed = 1});
    std::size_t of_branches = 0;
    for (std::size_t s = 0; s < sets.size(); ++s) {
      of_branches += sets[s].name == "branch" ? 1 : 0;
      for (std::size_t other = s + 1; other < sets.size(); ++other)
        EXPECT_NE(sets[s].columns, sets[other].columns) << text << ": " << sets[s].name << ", " << sets[other].name;
    }
    EXPECT_GE(of_branches, 2u) << text << ": each branch has its points";
  }
}

TEST(Branches, VariablesOfANode) {
  const expr::Expr e = parsed("(x + z) * y");
  const expr::NodeId product = e.outputs[0].node;
  EXPECT_EQ(variables_of(e, product), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(variables_of(e, e.at(product).a), (std::vector<bool>{true, false, true}));
}

}  // namespace
}  // namespace trident::equiv
