// Oracles: unseen walks, their states ranked one by one; bars that are never reached, and that always
// are; equal weights from two threads and after being stopped.
#include "jit/learn/pretraining.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/rules.h"

namespace trident::learn {
namespace {

NetworkShape shape() {
  NetworkShape shape;
  shape.width = 32;
  shape.rules = static_cast<std::uint32_t>(expr::rewrite::builtin_rules().rules.size()) + 1;
  return shape;
}

Network fresh() {
  return Network(shape(), expr::rewrite::node_kinds().hash, 5);
}

/// Returns all weights, in the order of the store.
std::vector<float> weights_in(const Network& network) {
  std::vector<float> all(network.store().flat().begin(), network.store().flat().end());
  for (const auto& table : network.store().tables())
    for (std::size_t r = 0; r < table->rows(); ++r)
      all.insert(all.end(), table->row(r), table->row(r) + table->width());
  return all;
}

class PretrainingOnWalks : public ::testing::Test {
 protected:
  PretrainingOnWalks() { std::filesystem::remove_all(folder_); }
  ~PretrainingOnWalks() override { std::filesystem::remove_all(folder_); }

  PretrainingOptions options(const std::string& name) const {
    PretrainingOptions o;
    o.seed = 3, o.walks = 120, o.epochs_max = 3;
    o.lengths = {{1, 0}, {2, 0}};
    o.training.trainer.folder = folder_ + "/" + name;
    o.training.trainer.seed = 3;
    o.training.trainer.samples_per_shard = 16;
    o.schedule = [](std::uint64_t epochs, std::size_t samples) {
      return train::Schedule{.peak = 5e-3, .last = 1e-3, .warmup_steps = 10, .steps = epochs * samples / 32};
    };
    return o;
  }

 private:
  std::string folder_ = ::testing::TempDir() + "/trident_pretraining";
};

/// Returns the share of ends of walks at which all rewrites with the highest score lead back.
double share_of_ends(const Network& network, const GuideSamples& samples) {
  std::map<std::uint32_t, std::uint32_t> last;  // graph of each walk
  for (const GuideSample& s : samples.samples) last[s.episode] = std::max(last[s.episode], s.graph);
  std::map<std::uint32_t, double> back, elsewhere;
  std::vector<std::uint32_t> list;
  for (const GuideSample& s : samples.samples) {
    if (s.graph != last[s.episode]) continue;
    auto& most = s.needed ? back : elsewhere;
    const double score = network.score(nn::HeadKind::guide, example_of(samples, s, {}, list));
    if (!most.contains(s.episode) || score > most[s.episode]) most[s.episode] = score;
  }
  double solved = 0;
  for (const auto& [walk, score] : back) solved += !elsewhere.contains(walk) || score > elsewhere[walk] ? 1 : 0;
  return solved / static_cast<double>(last.size());
}

TEST_F(PretrainingOnWalks, LearnsTheWayBackAndSaysHowWell) {
  PretrainingOptions o = options("learns");
  o.lengths = {{2, 0.99}};
  o.walks = 400;
  Network network = fresh();
  const Network before = fresh();
  const auto pretrained = pretrain(network, o);
  ASSERT_TRUE(pretrained.ok()) << pretrained.error().message;
  ASSERT_EQ(pretrained->lengths.size(), 1u);
  const Pretrained::OfLength& of = pretrained->lengths[0];
  EXPECT_EQ(of.steps, 2u);
  EXPECT_EQ(of.walks, 400u);
  EXPECT_EQ(of.walks_tested, 100u);
  EXPECT_EQ(of.network.states, 200u);
  // No test walk was trained on.
  WalkOptions walks;
  walks.seed = 3 * 64 + 1'000'000, walks.walks = 100, walks.steps = 2;
  const GuideSamples tested = walked(walks);
  walks.seed = 3 * 64, walks.walks = 400;
  const GuideSamples train = walked(walks);
  EXPECT_EQ(of.samples, train.samples.size());
  EXPECT_EQ(of.ends, share_of_ends(network, tested));
  EXPECT_EQ(of.ends_before, share_of_ends(before, tested));
  EXPECT_GT(of.network.first, of.by_cost.first);
  EXPECT_GT(of.by_cost.first, of.network.chance);
  EXPECT_GT(of.ends, of.ends_before);
  // Training walks are learnt better.
  EXPECT_GT(share_of_ends(network, train), share_of_ends(before, train) + 0.1);
}

TEST_F(PretrainingOnWalks, BeginsWithTheNetworkThatItIsGiven) {
  PretrainingOptions o = options("begins");
  o.lengths = {{1, 0.99}};
  o.schedule = [](std::uint64_t, std::size_t) { return train::Schedule{.peak = 0, .last = 0, .steps = 1}; };
  Network network = fresh();
  ASSERT_TRUE(pretrain(network, o).ok());
  EXPECT_EQ(weights_in(network), weights_in(fresh())) << "nothing was learnt at a rate of zero";
}

TEST_F(PretrainingOnWalks, GoesOnToLongerWalksWhereEnoughEndsAreSolved) {
  Network network = fresh();
  PretrainingOptions o = options("goes_on");
  const auto all = pretrain(network, o);
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->lengths.size(), 2u);
  EXPECT_EQ(all->reached, 2u);
  EXPECT_EQ(all->lengths[0].walks, 60u);
  EXPECT_EQ(all->lengths[1].steps, 2u);
  EXPECT_EQ(all->lengths[1].network.states, 2 * all->lengths[1].walks_tested);
  for (const auto& of : all->lengths) EXPECT_TRUE(of.enough && of.epochs == 1) << "one epoch is enough for nothing";

  o = options("falls_short");
  o.lengths = {{1, 0}, {2, 0.99}, {4, 0}};
  Network other = fresh();
  const auto some = pretrain(other, o);
  ASSERT_TRUE(some.ok()) << some.error().message;
  ASSERT_EQ(some->lengths.size(), 2u) << "no walks of four rewrites";
  EXPECT_TRUE(some->lengths[0].enough);
  EXPECT_FALSE(some->lengths[1].enough);
  EXPECT_EQ(some->reached, 1u);
  EXPECT_LE(some->lengths[1].epochs, o.epochs_max);
  o = options("nothing");
  o.lengths = {{1, 0.99}, {2, 0}};
  const auto none = pretrain(other, o);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->lengths.size(), 1u);
  EXPECT_EQ(none->reached, 0u);
}

TEST_F(PretrainingOnWalks, IsTheSameFromTwoThreadsAndAfterBeingStopped) {
  PretrainingOptions o = options("reference");
  o.lengths = {{1, 0.1}, {2, 0.99}};
  Network reference = fresh();
  const auto expected = pretrain(reference, o);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  ASSERT_EQ(expected->lengths.size(), 2u);

  o.training.trainer.folder = options("two").training.trainer.folder;
  o.training.trainer.threads = 2;
  Network two = fresh();
  ASSERT_TRUE(pretrain(two, o).ok());
  EXPECT_EQ(weights_in(two), weights_in(reference));

  // Stopped within the second length, twice.
  o.training.trainer.folder = options("stopped").training.trainer.folder;
  o.training.trainer.resume = true;
  std::size_t batches = 0, batches_max = 0;
  o.progress = [&](const std::string& what, std::size_t, std::size_t) { batches += what == "pretraining" ? 1 : 0; };
  Network counted = fresh();
  PretrainingOptions whole = o;
  whole.training.trainer.folder = options("counted").training.trainer.folder;
  ASSERT_TRUE(pretrain(counted, whole).ok());
  const std::size_t all = batches;
  o.stopped = [&] { return batches >= batches_max; };
  std::size_t asked = 0;
  for (const std::size_t more : {all * 2 / 3, all / 6}) {
    batches = 0, batches_max = more;
    Network stopped = fresh();
    const auto interrupted = pretrain(stopped, o);
    ASSERT_TRUE(interrupted.ok());
    EXPECT_TRUE(interrupted->interrupted);
    EXPECT_EQ(interrupted->lengths.size(), 2u);
    asked += batches;
  }
  o.stopped = {};
  batches = 0;
  Network resumed = fresh();
  const auto done = pretrain(resumed, o);
  ASSERT_TRUE(done.ok());
  EXPECT_FALSE(done->interrupted);
  EXPECT_EQ(weights_in(resumed), weights_in(reference));
  EXPECT_LE(asked + batches, all + 4) << "what was trained is not trained again";
  ASSERT_EQ(done->lengths.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(done->lengths[i].ends, expected->lengths[i].ends);
    EXPECT_EQ(done->lengths[i].epochs, expected->lengths[i].epochs);
    EXPECT_EQ(done->lengths[i].network.first, expected->lengths[i].network.first);
  }
}

}  // namespace
}  // namespace trident::learn
