// Oracle: searches by the weights that were written, beside what every epoch is said to have found.
#include "jit/training/train_guide.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "jit/expr/rewrite/kinds.h"
#include "jit/learn/submitted.h"

namespace trident::training {
namespace {

// A seed by which an epoch of the first round is the best.
TEST(TrainGuide, WritesTheEpochWhoseSearchesFindMost) {
  TrainGuideOptions options;
  options.seed = 9, options.episodes = 120, options.rounds = 2, options.epochs = 2, options.width = 32;
  options.folder = ::testing::TempDir() + "/trident_train_guide";
  std::filesystem::remove_all(options.folder);
  const auto trained = train_guide(options);
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  ASSERT_EQ(trained->epochs.size(), 2u);
  std::vector<TrainedGuide::Epoch> epochs;
  for (const auto& round : trained->epochs) {
    ASSERT_EQ(round.size(), 2u);
    epochs.insert(epochs.end(), round.begin(), round.end());
  }
  const auto weights = nn::AccumulatorWeights::copy(
      trained->block, nnue::feature_space(expr::rewrite::node_kinds().hash, nnue::kDefaultDepth));
  ASSERT_TRUE(weights.ok());
  const std::vector<expr::Expr> cases = learn::composed_cases(2 * kCasesChosenBy, {.dressed = true});
  const std::span<const expr::Expr> all(cases);
  const double found = learn::found_ratio(all.first(kCasesChosenBy), *weights, learn::kApplicationsJudged);
  const auto by_ratio = [](const auto& a, const auto& b) { return a.ratio < b.ratio; };
  const auto least = std::min_element(epochs.begin(), epochs.end(), by_ratio);
  EXPECT_EQ(found, least->ratio);
  EXPECT_EQ(trained->round_chosen, static_cast<std::size_t>(least - epochs.begin()) / 2);
  EXPECT_EQ(found, trained->ratio_chosen);
  EXPECT_LT(least->ratio, std::max_element(epochs.begin(), epochs.end(), by_ratio)->ratio) << "epochs differ";
  EXPECT_EQ(learn::found_ratio(all.subspan(kCasesChosenBy), *weights, learn::kApplicationsJudged), trained->ratio);
  EXPECT_LT(trained->ratio_static, 1);
  std::filesystem::remove_all(options.folder);
}

// Nothing is learnt of a domain that is left out, and the effect of its rules is counted by itself.
TEST(TrainGuide, DomainsLeftOutAreTestedOn) {
  TrainGuideOptions options;
  options.seed = 3, options.episodes = 60, options.rounds = 1, options.epochs = 1, options.width = 32;
  options.without = {"exponentials"};
  options.folder = ::testing::TempDir() + "/trident_train_guide_without";
  std::filesystem::remove_all(options.folder);
  const auto trained = train_guide(options);
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  EXPECT_GT(trained->left_out_rules.samples, 50u);
  EXPECT_LT(2 * trained->left_out_rules.samples, trained->left_out.samples);
  EXPECT_GT(trained->left_out_rules.needed, 0u);
  EXPECT_LT(trained->left_out_rules.needed, trained->left_out.needed);
  EXPECT_EQ(trained->left_out_rules.auc_rule, 0.5);  // none of them was met in training: all shares are alike
  options.without = {"exponential"};
  EXPECT_FALSE(train_guide(options).ok());
  std::filesystem::remove_all(options.folder);
}

// Another teacher plays by itself, and one thread and two learn the same of it.
TEST(TrainGuide, ASecondTeacherTellsOtherThings) {
  const auto trained = [](learn::Teacher teacher, unsigned threads) {
    TrainGuideOptions options;
    options.seed = 3, options.episodes = 60, options.rounds = 1, options.epochs = 1, options.width = 32;
    options.teacher = teacher, options.threads = threads;
    options.folder = ::testing::TempDir() + "/trident_train_guide_by";
    std::filesystem::remove_all(options.folder);
    auto result = train_guide(options);
    CHECK(result.ok());
    std::filesystem::remove_all(options.folder);
    return std::move(*result);
  };
  const TrainedGuide hindsight = trained(learn::Teacher::hindsight, 1), q = trained(learn::Teacher::q, 1);
  const TrainedGuide both = trained(learn::Teacher::both, 1), again = trained(learn::Teacher::both, 2);
  EXPECT_EQ(hindsight.decisions, 0u);
  EXPECT_GT(both.decisions, 60u * 20);
  EXPECT_GT(both.learning_steps, 100u);
  EXPECT_EQ(both.scramble, 8u) << "the curriculum has come to its last level";
  EXPECT_EQ(hindsight.scramble, 0u);
  EXPECT_EQ(hindsight.samples, both.samples);
  EXPECT_NE(hindsight.block, both.block);
  EXPECT_NE(q.block, both.block);
  EXPECT_EQ(both.block, again.block);
}

}  // namespace
}  // namespace trident::training
