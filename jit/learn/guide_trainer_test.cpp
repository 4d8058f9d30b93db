// Oracle: the same weights with their rows in another order.
#include "jit/learn/guide_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/language.h"
#include "jit/nnue/rule_keys.h"

namespace trident::learn {
namespace {

// A file's rows are found by their keys, wherever they lie: rules may have come and gone since it was made.
TEST(IntegerScores, FindTheRowOfARuleByItsKey) {
  const GuideSamples samples = play({.seed = 5, .episodes = 2});
  ASSERT_GT(samples.samples.size(), 20u);
  const auto& rules = expr::rewrite::builtin_rules().rules;
  NetworkShape shape;
  shape.width = 8;
  shape.rules = static_cast<std::uint32_t>(rules.size()) + 1;
  const Network network(shape, expr::rewrite::node_kinds().hash, 1);
  nn::PlainWeights plain = network.quantise(hits_of(samples)).weights;
  auto& guide = plain.heads[static_cast<std::size_t>(nn::HeadKind::guide)];
  guide.keys = nnue::keys_of(rules, expr::rewrite::op_rows());
  for (std::size_t r = 0; r < guide.bias.size(); ++r)
    for (std::int32_t& b : guide.bias[r]) b += static_cast<std::int32_t>(r % 101) * 20;
  const auto scores = [&](Sight sight) {
    const auto weights = nn::AccumulatorWeights::make(plain);
    CHECK(weights.ok());
    return integer_scores(*weights, samples, sight);
  };
  const std::vector<std::int32_t> as_trained = scores({}), unnamed = scores({.rule = false});
  EXPECT_NE(as_trained, unnamed);
  std::reverse(guide.bias.begin() + 1, guide.bias.end());
  EXPECT_NE(scores({}), as_trained) << "rows have no effect: nothing was compared";
  std::reverse(guide.keys.begin() + 1, guide.keys.end());
  EXPECT_EQ(scores({}), as_trained);
  EXPECT_EQ(scores({.rule = false}), unnamed);
}

}  // namespace
}  // namespace trident::learn
