// Oracle: searches by the weights that were written, beside what every epoch is said to have found.
#include "clients/cli/train_guide.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "jit/expr/rewrite/kinds.h"
#include "jit/learn/submitted.h"

namespace trident::cli {
namespace {

TEST(TrainGuide, WritesTheEpochWhoseSearchesFindMost) {
  TrainGuideOptions options;
  options.seed = 3, options.episodes = 60, options.rounds = 1, options.epochs = 4, options.width = 32;
  options.folder = ::testing::TempDir() + "/trident_train_guide";
  std::filesystem::remove_all(options.folder);
  const auto trained = train_guide(options);
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  ASSERT_EQ(trained->epochs.size(), 1u);
  const auto& epochs = trained->epochs[0];
  ASSERT_EQ(epochs.size(), 4u);
  const auto weights = nn::AccumulatorWeights::copy(
      trained->block, nnue::feature_space(expr::rewrite::node_kinds().hash, nnue::kDefaultDepth));
  ASSERT_TRUE(weights.ok());
  const std::vector<expr::Expr> cases = learn::composed_cases(2 * kCasesChosenBy);
  const std::span<const expr::Expr> all(cases);
  const double found = learn::found_ratio(all.first(kCasesChosenBy), *weights, learn::kApplicationsJudged);
  const auto by_ratio = [](const auto& a, const auto& b) { return a.ratio < b.ratio; };
  const auto least = std::min_element(epochs.begin(), epochs.end(), by_ratio);
  EXPECT_EQ(found, least->ratio);
  EXPECT_EQ(found, trained->ratio_chosen);
  EXPECT_LT(least->ratio, std::max_element(epochs.begin(), epochs.end(), by_ratio)->ratio) << "epochs differ";
  EXPECT_EQ(learn::found_ratio(all.subspan(kCasesChosenBy), *weights, learn::kApplicationsJudged), trained->ratio);
  EXPECT_LT(trained->ratio_static, 1);
  std::filesystem::remove_all(options.folder);
}

}  // namespace
}  // namespace trident::cli
