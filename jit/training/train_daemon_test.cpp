// Tests which weights are promoted. Oracles: weights whose merits are known (the program's own, and weights that know
// nothing), figures counted by hand, files written by the test.
#include "jit/training/train_daemon.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "jit/expr/rewrite/guides.h"
#include "jit/nnue/shipped_weights.h"
#include "jit/pipeline/search_weights.h"
#include "jit/training/train_guide.h"
#include "runtime/store/state_folder.h"

namespace trident::training {
namespace {

namespace fs = std::filesystem;

class TrainDaemon : public ::testing::Test {
 protected:
  TrainDaemon() {
    char pattern[] = "/dev/shm/trident-train-XXXXXX";
    state_ = ::mkdtemp(pattern);
  }
  ~TrainDaemon() override { fs::remove_all(state_); }
  [[nodiscard]] store::Versions versions() const { return store::weight_versions(state_).value(); }
  std::string state_;
};

std::vector<std::byte> shipped() {
  const auto bytes = nnue::shipped_weights();
  return {bytes.begin(), bytes.end()};
}

const std::vector<expr::Expr>& cases() {
  static const std::vector<expr::Expr> made = learn::composed_cases(24);
  return made;
}

TEST_F(TrainDaemon, OnlyWhatFindsMoreIsPromoted) {
  store::Versions folder = versions();
  const std::vector<std::byte> naive = untrained_guide(1).value();
  // Against the program's own weights such as know nothing are refused, and leave nothing behind.
  TrainedRound round;
  ASSERT_TRUE(promote_if_better(folder, naive, cases(), round).ok());
  EXPECT_FALSE(round.promoted);
  EXPECT_GT(round.ratio, round.ratio_before);
  EXPECT_EQ(folder.chosen().value(), store::Versions::kNone);
  EXPECT_EQ(folder.list()->size(), 1u);
  // Weights are not promoted in place of their equals.
  ASSERT_TRUE(promote_if_better(folder, shipped(), cases(), round = {}).ok());
  EXPECT_FALSE(round.promoted);
  EXPECT_EQ(round.ratio, round.ratio_before);
  // The other way round they are promoted.
  const std::string bad = folder.add(naive, "{}").value();
  ASSERT_TRUE(folder.choose(bad).ok());
  ASSERT_TRUE(promote_if_better(folder, shipped(), cases(), round = {}).ok());
  EXPECT_TRUE(round.promoted);
  EXPECT_EQ(round.before, bad);
  EXPECT_EQ(folder.chosen().value(), round.candidate);
  EXPECT_EQ(folder.roll_back().value(), bad);
}

TEST_F(TrainDaemon, ADifferenceWithinNoiseIsNoImprovement) {
  EXPECT_FALSE(improves(0.5, 0.5));
  EXPECT_FALSE(improves(0.5, 0.51));
  EXPECT_FALSE(improves(0.5, 0.499));
  EXPECT_TRUE(improves(0.5, 0.49));
}

TEST_F(TrainDaemon, BesideWhatCannotBeUsedTheProgramsOwnAreTheMeasure) {
  store::Versions folder = versions();
  const std::string text = "no weights at all";
  const std::string bad = folder.add(std::as_bytes(std::span(text)), "{}").value();
  ASSERT_TRUE(folder.choose(bad).ok());
  TrainedRound round;
  ASSERT_TRUE(promote_if_better(folder, shipped(), cases(), round).ok());
  EXPECT_FALSE(round.promoted) << "they are what the daemon goes by already";
  EXPECT_EQ(round.ratio_before, round.ratio);
}

// The daemon does not use weights with noise behind them, and the noise is no judge to keep.
TEST_F(TrainDaemon, NoiseBehindTheChosenWeightsIsNotHandedOn) {
  store::Versions folder = versions();
  std::vector<std::byte> noisy = untrained_guide(1).value();
  noisy.resize(noisy.size() + 200, std::byte{1});
  const std::string bad = folder.add(noisy, "{}").value();
  ASSERT_TRUE(folder.choose(bad).ok());
  EXPECT_FALSE(pipeline::SearchWeights::map(folder.path_of(bad), bad).ok());
  TrainedRound round;
  ASSERT_TRUE(promote_if_better(folder, shipped(), cases(), round).ok());
  EXPECT_EQ(round.ratio_before, round.ratio);
  const std::string chosen = folder.chosen().value();
  EXPECT_TRUE(chosen == bad || pipeline::SearchWeights::map(folder.path_of(chosen), chosen).ok());
}

TEST_F(TrainDaemon, TheSplitGoesByTheExpressionAlone) {
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += "(add (mul x y) " + std::to_string(i) + ")\n";
  const std::string one = state_ + "/one", other = state_ + "/other";
  std::ofstream(one) << "(this is nothing\n" << lines << "\n(add x";
  std::ofstream(other) << lines;
  const std::string alone[] = {other}, both[] = {one, other, state_ + "/absent"};
  const auto first = learn::read_submitted(alone), second = learn::read_submitted(both);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->passed_over, 0u);
  EXPECT_EQ(second->passed_over, 2u);
  EXPECT_EQ(first->train.size() + first->held_out.size(), 200u);
  ASSERT_EQ(second->held_out.size(), first->held_out.size());
  for (std::size_t i = 0; i < first->held_out.size(); ++i)
    EXPECT_EQ(expr::canonical_bytes(first->held_out[i]), expr::canonical_bytes(second->held_out[i]));
  EXPECT_GT(first->held_out.size(), 20u);
  EXPECT_LT(first->held_out.size(), 60u);
}

// Figures repeat for the same weights and cases, and no clock is looked at.
TEST_F(TrainDaemon, FiguresRepeat) {
  const auto weights = expr::rewrite::guide_weights(std::string());
  ASSERT_TRUE(weights.ok());
  const double once = learn::found_ratio(cases(), *weights, 100);
  EXPECT_EQ(learn::found_ratio(cases(), *weights, 100), once);
  EXPECT_LT(learn::found_ratio(cases(), *weights, 400), 1);
  EXPECT_EQ(learn::found_ratio({}, *weights, 100), 1);
}

TEST_F(TrainDaemon, ARoundNeedsSomethingToLearnFrom) {
  DaemonTrainer trainer({.state = state_, .episodes = 40, .epochs = 1, .least = 5});
  auto round = trainer.round();
  ASSERT_TRUE(round.ok()) << round.error().message;
  EXPECT_FALSE(round->enough);
  std::ofstream(store::journal_path(state_)) << "(mul x 1)\n(add (mul a b) (mul a c))\n(exp (log x))\n(add x 0)\n"
                                                "(sub (mul x x) (mul y y))\n(div (mul x y) y)\n";
  const std::string bad = versions().add(untrained_guide(1).value(), "{}").value();
  ASSERT_TRUE(versions().choose(bad).ok());
  round = trainer.round();
  ASSERT_TRUE(round.ok()) << round.error().message;
  EXPECT_TRUE(round->enough);
  EXPECT_EQ(round->before, bad);
  EXPECT_GT(round->samples, 100u);
  EXPECT_EQ(round->promoted, improves(round->ratio_before, round->ratio));
  EXPECT_EQ(versions().chosen().value(), round->promoted ? round->candidate : bad);
}

}  // namespace
}  // namespace trident::training
