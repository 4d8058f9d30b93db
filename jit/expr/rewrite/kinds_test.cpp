// The kinds of the nodes of parsed expressions, named by hand.
#include "jit/expr/rewrite/kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "jit/expr/rewrite/language.h"

namespace trident::expr::rewrite {
namespace {

std::vector<NodeKind> kinds_of(const char* text, ir::Type type) {
  ParseOptions options;
  options.type = type;
  const Result<Expr> expr = parse(text, options);
  EXPECT_TRUE(expr.ok()) << text;
  const Result<egraph::Term> term = to_term(*expr);
  EXPECT_TRUE(term.ok());
  std::vector<NodeKind> kinds;
  for (const egraph::ENode& node : term->nodes) kinds.push_back(static_cast<NodeKind>(node_kinds().of(node)));
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

TEST(Kinds, AreOfValuesInLeavesAndOfOpsElsewhere) {
  using enum NodeKind;
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
    EXPECT_EQ((std::vector{Add, Mul, Number, Varying}), kinds_of("x * 3 + x", type));
    EXPECT_EQ((std::vector{Add, Add, Zero, One, Varying}), kinds_of("x + 0 + 1", type));
    EXPECT_EQ((std::vector{Mul, Mul, Two, PowerOfTwo, Varying}), kinds_of("x * 2 * 0.125", type));
    EXPECT_EQ((std::vector{Sub, MinMax, MinMax, Varying, Varying}), kinds_of("min(x, y) - max(x, y)", type));
    EXPECT_EQ((std::vector{Compare, Select, One, Varying}), kinds_of("x < 1 ? x : 1", type));
  }
}

TEST(Kinds, OfConstants) {
  const auto kind = [](ir::Type type, double value) {
    Language language({});
    return static_cast<NodeKind>(
        node_kinds().of(language.semantics().constant(&language, static_cast<std::uint8_t>(type), value)));
  };
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64, ir::Type::i32, ir::Type::i64}) {
    EXPECT_EQ(NodeKind::Zero, kind(type, 0));
    EXPECT_EQ(NodeKind::One, kind(type, 1));
    EXPECT_EQ(NodeKind::MinusOne, kind(type, -1));
    EXPECT_EQ(NodeKind::Two, kind(type, 2));
    EXPECT_EQ(NodeKind::PowerOfTwo, kind(type, 1024));
    EXPECT_EQ(NodeKind::PowerOfTwo, kind(type, -4));
    EXPECT_EQ(NodeKind::Number, kind(type, 6));
  }
  EXPECT_EQ(NodeKind::Zero, kind(ir::Type::f64, -0.0));
  EXPECT_EQ(NodeKind::PowerOfTwo, kind(ir::Type::f32, 0x1p-149));
  EXPECT_EQ(NodeKind::Number, kind(ir::Type::f64, HUGE_VAL));
}

TEST(Kinds, OpsTakeAllThatAreNotLeaves) {
  constexpr std::size_t kLeaves = 8;
  std::set<NodeKind> used;
  for (const OpInfo& op : kOpInfos)
    if (op.signature != Signature::Leaf) used.insert(op.kind);
  EXPECT_EQ(nnue::kKinds - kLeaves, used.size());
  for (const NodeKind kind : used) EXPECT_LT(static_cast<std::size_t>(kind), nnue::kKinds - kLeaves);
  EXPECT_EQ(nnue::kKinds - kLeaves, static_cast<std::size_t>(NodeKind::Zero));
}

}  // namespace
}  // namespace trident::expr::rewrite
