// Oracles: numeric values of neighbours; neighbours counted by hand.
#include "jit/egraph/neighbours.h"

#include <gtest/gtest.h>

#include "jit/egraph/toy_terms.h"

namespace trident::egraph {
namespace {

using toy::kAdd, toy::kFma, toy::kMul, toy::kSub, toy::value;

SearchSpace space_of(const Matcher& matcher) {
  return {toy::kOps, toy::semantics(), &matcher, toy::kCosts, {}};
}

TEST(Neighbours, MeanTheSameAndDiffer) {
  const std::vector<Rule> all = toy::rules();
  const Matcher matcher(all, toy::kOps);
  std::size_t count = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    const Term initial = toy::random_term(seed);
    for (const Term& next : neighbours(space_of(matcher), initial)) {
      ++count;
      for (const std::array<double, 3>& leaves : {std::array{1.25, -2.0, 0.5}, std::array{-3.0, 0.75, 4.0}})
        EXPECT_NEAR(value(next, leaves), value(initial, leaves), 1e-9 * (1 + std::fabs(value(initial, leaves))));
      for (std::size_t i = 0; i < next.nodes.size(); ++i)
        for (std::uint8_t c = 0; c < toy::kOps[next.nodes[i].op].children; ++c) ASSERT_LT(next.nodes[i].child[c], i);
    }
  }
  EXPECT_GT(count, 200u);
}

// a b + a c, twice: as it is, and as an operand of itself. Factoring applies at each place alone, with all its users;
// fusing at each place with either product; no other rule fits.
TEST(Neighbours, AreOneRuleAtOnePlace) {
  std::vector<Rule> some;
  for (const char* text : {"factor: (add (mul ?a ?b) (mul ?a ?c)) => (mul ?a (add ?b ?c))",
                           "fuse: (add (mul ?a ?b) ?c) => (fma ?a ?b ?c)"}) {
    auto rule = parse_rule(text, toy::kOps);
    ASSERT_TRUE(rule.ok());
    some.push_back(std::move(rule).value());
  }
  const Matcher matcher(some, toy::kOps);
  Term term;
  term.nodes = {toy::leaf(0),          toy::leaf(1),          toy::leaf(2),         toy::node(kMul, 0, 1),
                toy::node(kMul, 0, 2), toy::node(kAdd, 3, 4), toy::node(kSub, 5, 3)};
  term.roots = {6};
  const std::vector<Term> found = neighbours(space_of(matcher), term);
  ASSERT_EQ(found.size(), 3u);
  int fused = 0;
  for (const Term& next : found) {
    EXPECT_EQ(next.nodes[next.roots[0]].op, kSub);  // users of the place stay
    for (const ENode& n : next.nodes) fused += n.op == kFma ? 1 : 0;
  }
  EXPECT_EQ(fused, 2);
}

// (a b + a c) - a b, fused at the sum: with a b as the product, and with a c.
TEST(Neighbours, AreToldByTheirPlaces) {
  auto rule = parse_rule("fuse: (add (mul ?a ?b) ?c) => (fma ?a ?b ?c)", toy::kOps);
  ASSERT_TRUE(rule.ok());
  const std::vector<Rule> one{*rule};
  const Matcher matcher(one, toy::kOps);
  Term term;
  term.nodes = {toy::leaf(0),          toy::leaf(1),          toy::leaf(2),         toy::node(kMul, 0, 1),
                toy::node(kMul, 0, 2), toy::node(kAdd, 3, 4), toy::node(kSub, 5, 3)};
  term.roots = {6};
  const std::array<Place, 2> places = {Place{0, 5, {0, 1, 4}}, Place{0, 5, {0, 2, 3}}};
  const std::vector<Term> found = rewritten_at(space_of(matcher), term, places);
  ASSERT_EQ(found.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(found[i].roots.size(), 1u);
    const ENode& root = found[i].nodes[found[i].roots[0]];
    ASSERT_EQ(root.op, kSub);
    const ENode& fused = found[i].nodes[root.child[0]];
    ASSERT_EQ(fused.op, kFma);
    // The addend: the other product, as it was.
    const ENode &added = found[i].nodes[fused.child[2]], &factor = found[i].nodes[fused.child[1]];
    EXPECT_EQ(added.op, kMul);
    EXPECT_EQ(factor.child, toy::leaf(i == 0 ? 1 : 2).child);
  }
}

// ?a => ?a + 0 would stand for itself.
TEST(Neighbours, LeaveOutWhatNeedsItself) {
  auto rule = parse_rule("grow: (neg ?a) => (neg (neg (neg ?a)))", toy::kOps);
  auto around = parse_rule("around: (add ?a ?b) => (sub (add ?a ?b) (sub ?a ?a))", toy::kOps);
  ASSERT_TRUE(rule.ok());
  ASSERT_TRUE(around.ok());
  const std::vector<Rule> some = {*rule, *around};
  const Matcher matcher(some, toy::kOps);
  Term term;
  term.nodes = {toy::leaf(0), toy::leaf(1), toy::node(kAdd, 0, 1), toy::node(toy::kNeg, 2)};
  term.roots = {3};
  for (const Term& next : neighbours(space_of(matcher), term)) EXPECT_EQ(value(next, {2, 3, 0}), -5);
}

}  // namespace
}  // namespace trident::egraph
