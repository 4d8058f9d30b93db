// Oracle: figures worked out by hand.
#include "jit/training/train_judge_folds.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trident::training {
namespace {

TEST(FoldMean, IsTheMeanAndTheDeviationOfASample) {
  const FoldMean three = mean_of({1, 2, 6});
  EXPECT_DOUBLE_EQ(three.mean, 3);
  EXPECT_DOUBLE_EQ(three.deviation, std::sqrt((4 + 1 + 9) / 2.0));
  EXPECT_EQ(mean_of({0.25}).mean, 0.25);
  EXPECT_EQ(mean_of({0.25}).deviation, 0);
}

}  // namespace
}  // namespace trident::training
