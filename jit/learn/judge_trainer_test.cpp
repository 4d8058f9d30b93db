// Oracles: times from a formula that the analytical model does not know;
// the network in floats against the judge in integers.
#include "jit/learn/judge_trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "jit/expr/rewrite/kinds.h"
#include "jit/learn/scrambles.h"
#include "jit/learn/variants.h"

namespace trident::learn {
namespace {

const cost::Table& costs() {
  return cost::shipped("avx512");
}

/// Makes samples of expressions of all domains. A kernel's time is the model's, longer the greater the share of
/// products under sums.
JudgeSamples samples_with_times(std::uint32_t families) {
  JudgeSamples out;
  for (std::uint64_t seed = 1; out.families.size() < families; ++seed) {
    const auto scramble = scrambled(seed, {.parts_max = 4});
    if (!scramble) continue;
    out.families.push_back({"family" + std::to_string(seed), seed % 10 == 0 ? "corpus" : "scramble"});
    for (const expr::Expr* e : {&scramble->good, &scramble->expr}) {
      const auto kernel = kernel_of(expr::print_infix(*e));
      if (!kernel.ok()) continue;
      double below_sums = 0;
      for (const expr::Node& node : e->nodes)
        for (const expr::NodeId operand : {node.a, node.b, node.c})
          if ((node.op == expr::Op::Add || node.op == expr::Op::Sub) && operand.valid())
            below_sums += e->at(operand).op == expr::Op::Mul ? 1 : 0;
      const double slower = std::exp(3 * below_sums / static_cast<double>(e->nodes.size()));
      const double model = expr::rewrite::static_ns(expr::rewrite::work_of(*kernel, costs()), costs());
      out.add(*e, *kernel, costs(), model * slower, static_cast<std::uint32_t>(out.families.size() - 1));
    }
  }
  return out;
}

TEST(JudgeSplit, HoldsWholeFamiliesOut) {
  const JudgeSamples samples = samples_with_times(200);
  const std::string without[] = {"scramble"};
  const JudgeSplit split = split_of(samples, "corpus", {}), left = split_of(samples, "corpus", without);
  EXPECT_EQ(split.train.size() + split.validation.size() + split.held_out.size() + split.by_hand.size(),
            samples.samples.size());
  EXPECT_TRUE(split.left_out.empty());
  EXPECT_TRUE(left.train.empty() && left.validation.empty());
  EXPECT_EQ(left.left_out.size() + left.by_hand.size(), samples.samples.size());
  std::vector<int> side(samples.families.size());
  for (const std::uint32_t i : split.train) side[samples.samples[i].family] |= 1;
  for (const std::uint32_t i : split.held_out) side[samples.samples[i].family] |= 2;
  for (const std::uint32_t i : split.by_hand) side[samples.samples[i].family] |= 4;
  for (const std::uint32_t i : split.validation) side[samples.samples[i].family] |= 8;
  int held_out = 0, validation = 0;
  for (std::size_t f = 0; f < side.size(); ++f) {
    EXPECT_TRUE(side[f] == 0 || side[f] == 1 || side[f] == 2 || side[f] == 4 || side[f] == 8) << f;
    EXPECT_EQ(side[f] == 4, samples.families[f].generator == "corpus" && side[f] != 0);
    held_out += side[f] == 2 ? 1 : 0, validation += side[f] == 8 ? 1 : 0;
  }
  EXPECT_GT(held_out, 15);
  EXPECT_LT(held_out, 80);
  EXPECT_GT(validation, 5);
  EXPECT_LT(validation, 40);
}

TEST(JudgeTrainer, LearnsWhatTheModelDoesNotKnow) {
  const JudgeSamples samples = samples_with_times(1600);
  const JudgeSplit split = split_of(samples, "corpus", {});
  const std::string folder = ::testing::TempDir() + "/trident_judge_trainer";
  std::vector<float> weights;
  for (const unsigned threads : {1u, 2u}) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    Network network({.width = 32}, expr::rewrite::node_kinds().hash, 1);
    JudgeTraining how;
    how.trainer.folder = folder;
    how.trainer.seed = 1, how.trainer.epochs = 16, how.trainer.samples_per_shard = 4, how.trainer.threads = threads;
    how.trainer.schedule = {.peak = 5e-3, .last = 1e-4, .warmup_steps = 20, .steps = 2400};
    const auto result = train_judge(network, samples, split.train, split.validation, how);
    ASSERT_TRUE(result.ok()) << result.error().message;
    const auto flat = network.store().flat();
    if (threads == 2) {
      EXPECT_TRUE(std::equal(flat.begin(), flat.end(), weights.begin(), weights.end()));
      continue;
    }
    weights.assign(flat.begin(), flat.end());
    const JudgeFigures figures = figures_of(network, samples, split.train, split.held_out);
    for (const GuessFigures& g : figures.guesses)
      std::printf("%-20s %.4f %.3f %.3f %.3f\n", g.name.c_str(), g.spearman, g.pairs, g.median_error, g.regret);
    const GuessFigures &learned = figures.guesses[0], &ridge = figures.guesses[2], &model = figures.guesses[3];
    EXPECT_EQ(ridge.name, "ridge regression");
    EXPECT_EQ(model.name, "analytical model");
    EXPECT_GT(learned.spearman, ridge.spearman);
    EXPECT_GT(ridge.spearman, model.spearman);
    double learned_error = 0, model_error = 0;
    for (const std::uint32_t i : split.held_out) {
      const JudgeSample& s = samples.samples[i];
      learned_error += std::fabs(guess_of(network, samples, s) - s.log_ns);
      model_error += std::fabs(s.static_log - s.log_ns);
    }
    EXPECT_LT(learned_error, 0.7 * model_error);

    // Scores in integers, as searches do.
    const auto block = nn::AccumulatorWeights::pack(network.quantise(hits_of(samples, split.train)).weights);
    ASSERT_TRUE(block.ok()) << block.error().message;
    const auto packed = nn::AccumulatorWeights::copy(
        *block, nnue::feature_space(expr::rewrite::node_kinds().hash, nnue::kDefaultDepth));
    ASSERT_TRUE(packed.ok());
    const expr::rewrite::TimeModel judge(*packed);
    EXPECT_EQ(judge.margin(), double{network.linear_guess()->margin});
    double off = 0;
    int compared = 0;
    for (std::uint64_t seed = 5000; compared < 100; ++seed) {
      const auto scramble = scrambled(seed, {.parts_max = 4});
      if (!scramble) continue;
      const auto kernel = kernel_of(expr::print_infix(scramble->good));
      if (!kernel.ok()) continue;
      JudgeSamples one;
      one.families.push_back({"one", "scramble"});
      ASSERT_TRUE(one.add(scramble->good, *kernel, costs(), 1, 0));
      const auto said = judge.log_ns(scramble->good, *kernel, costs());
      ASSERT_TRUE(said.ok());
      off += std::fabs(*said - guess_of(network, one, one.samples[0]));
      ++compared;
    }
    EXPECT_LT(off / compared, 0.05);
  }
  std::filesystem::remove_all(folder);
}

/// Families of two: the statically cheapest form takes 1 ns, the other one `other_ns`, and the network promises by how
/// much it is faster. Guesses are the scalar `nodes` alone, by a base that is made up.
struct Choices {
  JudgeSamples samples;
  std::vector<std::uint32_t> all;
  void add(double promised, double other_ns) {
    samples.families.push_back({"family" + std::to_string(samples.families.size()), "program"});
    for (const bool other : {false, true}) {
      JudgeSample s;
      s.family = static_cast<std::uint32_t>(samples.families.size() - 1);
      s.scalars[static_cast<std::size_t>(expr::rewrite::TimeScalar::nodes)] =
          expr::rewrite::scalar_of_logarithm(other ? -promised : 0);
      s.log_ns = other ? std::log(other_ns) : 0;
      s.static_best = !other;
      all.push_back(static_cast<std::uint32_t>(samples.samples.size()));
      samples.samples.push_back(s);
    }
  }
};

TEST(JudgeTrainer, TheMarginIsTheSmallestThatIsCarefulEnough) {
  Network network({.width = 8, .own_rows = {}}, expr::rewrite::node_kinds().hash, 1);
  network.scale_score(nn::HeadKind::judge, 0);
  nn::LinearGuess base;
  base.per_scalar[static_cast<std::size_t>(expr::rewrite::TimeScalar::nodes)] = 1;
  network.set_linear_guess(base);
  Choices choices;
  for (int i = 0; i < 90; ++i) choices.add(0.3, 0.8);
  // A tenth of the families break small promises: a margin below these is not careful enough.
  for (int i = 0; i < 10; ++i) choices.add(0.045, 1.1);
  EXPECT_EQ(best_margin(network, choices.samples, choices.all), 0.05);
  // Small promises are kept: the same margin would lose their gain.
  Choices kept;
  for (int i = 0; i < 90; ++i) kept.add(0.3, 0.8);
  for (int i = 0; i < 10; ++i) kept.add(0.045, 0.9);
  EXPECT_EQ(best_margin(network, kept.samples, kept.all), 0);
  // If no margin is careful, the largest is returned.
  Choices wrong;
  for (int i = 0; i < 10; ++i) wrong.add(0.5, 2);
  EXPECT_EQ(best_margin(network, wrong.samples, wrong.all), 0.2);
}

}  // namespace
}  // namespace trident::learn
