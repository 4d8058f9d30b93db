// Oracle: features written out path by path (jit/nnue/random_terms.h); for expressions, lists by hand.
#include "jit/nnue/feature_list.h"

#include <gtest/gtest.h>

#include <map>

#include "jit/nnue/random_terms.h"

namespace trident::nnue {
namespace {

/// Rows of ops: op k is kind k, with the arity that random terms give it.
const std::vector<egraph::OpRow>& ops() {
  static const std::vector<egraph::OpRow> rows = [] {
    std::vector<egraph::OpRow> made(naive::kKindsUsed);
    for (std::uint8_t k = 0; k < made.size(); ++k) made[k].children = naive::arity_of(k);
    return made;
  }();
  return rows;
}
constexpr KindTable kKindsAreOps{[](const egraph::ENode& node) { return node.op; }, naive::kHash};

std::map<std::uint32_t, std::int64_t> counted(const std::vector<std::uint32_t>& list) {
  std::map<std::uint32_t, std::int64_t> counts;
  for (const std::uint32_t f : list) ++counts[f];
  return counts;
}

TEST(FeatureList, AreThoseOfTheDefinition) {
  naive::Random random(1);
  for (int round = 0; round < 200; ++round) {
    naive::Term naive = naive::random_term(random, 1 + random() % 60, 0.3);
    if (round % 3 == 0) naive.roots.resize(1);  // so that some nodes are not needed
    egraph::Term term;
    for (const auto& n : naive.nodes)
      term.nodes.push_back({.op = n.choice.kind, .child = {n.choice.child[0], n.choice.child[1], n.choice.child[2]}});
    term.roots = naive.roots;
    if (round % 2 == 0) term.roots.push_back(term.roots[0]);
    for (unsigned depth = 1; depth <= kDepthMax; ++depth) {
      const FeatureList found = features_of(term, ops(), kKindsAreOps, depth);
      EXPECT_EQ(naive::features_of(naive, depth), counted(found.list));
      const auto references = naive.references();
      EXPECT_EQ(references.size() - static_cast<std::size_t>(std::count(references.begin(), references.end(), 0u)),
                found.nodes);
    }
  }
}

TEST(FeatureList, OfASquareByHand) {
  // f(x) = g(x, x) with g of kind 7, x of kind 2, to depth 1: g; x twice below it; x; x is referenced twice.
  egraph::Term term;
  term.nodes = {{.op = 2}, {.op = 7, .child = {0, 0}}};
  term.roots = {1};
  const std::map<std::uint32_t, std::int64_t> expected = {{(7 * 56 + 7) * 128 + 0, 1},
                                                          {(7 * 56 + 2) * 128 + 1, 1},
                                                          {(7 * 56 + 2) * 128 + 2, 1},
                                                          {(2 * 56 + 2) * 128 + 0, 1},
                                                          {(2 * 56 + 2) * 128 + 121, 1}};
  EXPECT_EQ(expected, counted(features_of(term, ops(), kKindsAreOps, 1).list));
}

}  // namespace
}  // namespace trident::nnue
