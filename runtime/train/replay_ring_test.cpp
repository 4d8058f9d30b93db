// Oracle: returns summed by hand; a linear scan; the chi-square statistic against the priorities; the published formula
// of the weights.
#include "runtime/train/replay_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/train/allocation_count.h"
#include "runtime/train/state_bytes.h"

namespace trident::train {
namespace {

void add(ReplayRing& ring, std::size_t stream, std::uint8_t state, double reward, std::uint8_t next, Outcome outcome) {
  ring.add(stream, bytes_of(state), state + 100, reward, bytes_of(next), outcome);
}

struct Expected {
  int state, next;
  double reward, bootstrap;
};

void expect_transitions(const ReplayRing& ring, const std::vector<Expected>& expected) {
  ASSERT_EQ(ring.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(static_cast<int>(ring[i].state[0]), expected[i].state) << i;
    EXPECT_EQ(static_cast<int>(ring[i].next_state[0]), expected[i].next) << i;
    EXPECT_EQ(ring[i].action, expected[i].state + 100) << i;
    EXPECT_FLOAT_EQ(ring[i].reward, static_cast<float>(expected[i].reward)) << i;
    EXPECT_FLOAT_EQ(ring[i].bootstrap, static_cast<float>(expected[i].bootstrap)) << i;
  }
}

constexpr ReplayOptions kThreeSteps{.capacity = 16, .state_bytes = 1, .steps = 3, .discount = 0.5};

TEST(ReplayRing, WindowsOverlapAndATerminalMoveIsWorthNothingBeyond) {
  ReplayRing ring(kThreeSteps);
  add(ring, 0, 0, 1, 1, Outcome::going);
  add(ring, 0, 1, 2, 2, Outcome::going);
  EXPECT_EQ(ring.size(), 0u);
  add(ring, 0, 2, 4, 3, Outcome::going);
  EXPECT_EQ(ring.size(), 1u);
  add(ring, 0, 3, 8, 4, Outcome::terminal);
  add(ring, 0, 7, 1, 8, Outcome::terminal);  // nothing of the episode before is left
  expect_transitions(ring,
                     {{0, 3, 1 + 1 + 1, 0.125}, {1, 4, 2 + 2 + 2, 0}, {2, 4, 4 + 4, 0}, {3, 4, 8, 0}, {7, 8, 1, 0}});
}

TEST(ReplayRing, ATruncatedEpisodeGoesOnBeingWorthItsLastState) {
  ReplayRing ring(kThreeSteps);
  for (std::uint8_t i = 0; i < 4; ++i) {
    add(ring, 0, i, 1 << i, static_cast<std::uint8_t>(i + 1), i < 3 ? Outcome::going : Outcome::truncated);
  }
  add(ring, 0, 9, 5, 10, Outcome::truncated);
  expect_transitions(ring, {{0, 3, 3, 0.125}, {1, 4, 6, 0.125}, {2, 4, 8, 0.25}, {3, 4, 8, 0.5}, {9, 10, 5, 0.5}});
}

TEST(ReplayRing, StreamsDoNotMixAndTheOldestGivesWay) {
  ReplayOptions options = kThreeSteps;
  options.streams = 2;
  options.capacity = 3;
  ReplayRing ring(options);
  add(ring, 0, 0, 1, 1, Outcome::going);
  add(ring, 1, 50, 100, 51, Outcome::going);
  add(ring, 0, 1, 2, 2, Outcome::going);
  add(ring, 1, 51, 200, 52, Outcome::terminal);
  add(ring, 0, 2, 4, 3, Outcome::going);
  expect_transitions(ring, {{50, 52, 200, 0}, {51, 52, 200, 0}, {0, 3, 3, 0.125}});
  add(ring, 0, 3, 8, 4, Outcome::going);
  expect_transitions(ring, {{1, 4, 6, 0.125}, {51, 52, 200, 0}, {0, 3, 3, 0.125}});
}

TEST(SumTree, FindsWhatALinearScanFinds) {
  for (const std::size_t count : {1u, 2u, 3u, 7u, 64u, 1000u}) {
    tensor::Generator generator(3, count);
    SumTree tree(count);
    std::vector<double> priorities(count);
    for (int round = 0; round < 200; ++round) {
      const std::size_t changed = generator.below(count);
      priorities[changed] = static_cast<double>(generator.below(4));  // whole numbers: both sums are exact; many zeros
      tree.set(changed, priorities[changed]);
      double total = 0;
      for (const double p : priorities) total += p;
      ASSERT_EQ(tree.total(), total);
      if (total == 0) continue;
      const double mass = generator.uniform() * total;
      std::size_t scanned = 0;
      for (double sum = priorities[0]; sum <= mass; sum += priorities[scanned]) ++scanned;
      ASSERT_EQ(tree.find(mass), scanned) << count << " " << mass;
    }
  }
}

TEST(SumTree, NeverFindsWhatHasNoPriority) {
  tensor::Generator generator(4);
  for (int round = 0; round < 2000; ++round) {
    SumTree tree(13);
    for (std::size_t i = 0; i < 13; ++i) {
      if (generator.below(3) == 0) tree.set(i, std::pow(10.0, 40 * generator.uniform() - 20));
    }
    if (tree.total() == 0) continue;
    // Just below the whole, and the whole itself: where rounding would step over the last one.
    for (const double mass : {0.0, std::nextafter(tree.total(), 0.0), tree.total()}) {
      ASSERT_GT(tree.priority(tree.find(mass)), 0);
    }
  }
}

class Sampling : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 10;
  Sampling() {
    for (std::uint8_t i = 0; i < kCount; ++i) add(ring_, 0, i, 0, i, Outcome::terminal);
    for (std::uint32_t i = 0; i < kCount; ++i) {
      const float error = (i % 2 ? -1.0f : 1.0f) * static_cast<float>(i * i) / 10;
      ring_.update(std::span(&i, 1), std::span(&error, 1));
      priorities_.push_back(std::pow(std::abs(static_cast<double>(error)) + 0.05, 0.6));
      total_ += priorities_.back();
    }
  }
  ReplayRing ring_{{.capacity = 32, .state_bytes = 1, .steps = 1, .alpha = 0.6, .epsilon = 0.05}};
  std::vector<double> priorities_;
  double total_ = 0;
};

TEST_F(Sampling, FollowsThePriorities) {
  constexpr int kDraws = 64'000;
  for (const std::size_t batch : {1u, 64u}) {
    tensor::Generator generator(6, batch);
    std::vector<std::uint32_t> indices(batch);
    std::vector<float> weights(batch);
    std::vector<double> seen(kCount);
    for (std::size_t n = 0; n < kDraws / batch; ++n) {
      ring_.sample(generator, 1, indices, weights);
      for (const auto i : indices) seen.at(i) += 1;
    }
    double chi_square = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double expected = kDraws * priorities_[i] / total_;
      chi_square += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    EXPECT_LT(chi_square, 27.88) << "9 degrees of freedom, 0.1 %";
  }
}

TEST_F(Sampling, DrawsOneFromEachEqualPart) {
  tensor::Generator generator(7);
  std::vector<std::uint32_t> indices(64);
  std::vector<float> weights(64);
  ring_.sample(generator, 1, indices, weights);
  std::vector<double> seen(kCount);
  for (const auto i : indices) seen.at(i) += 1;
  // At most two parts belong to a transition only in part.
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_NEAR(seen[i], 64 * priorities_[i] / total_, 2) << i;
}

TEST_F(Sampling, WeighsByThePublishedFormula) {
  for (const double beta : {0.0, 0.4, 1.0}) {
    tensor::Generator generator(8);
    std::vector<std::uint32_t> indices(16);
    std::vector<float> weights(16);
    ring_.sample(generator, beta, indices, weights);
    std::vector<double> expected;
    for (const auto i : indices) expected.push_back(std::pow(kCount * priorities_[i] / total_, -beta));
    const double largest = *std::max_element(expected.begin(), expected.end());
    for (std::size_t b = 0; b < 16; ++b) EXPECT_NEAR(weights[b], expected[b] / largest, 1e-6) << beta;
  }
}

TEST_F(Sampling, TransitionsComeInWithTheLargestPriority) {
  add(ring_, 0, 42, 0, 43, Outcome::terminal);
  const double largest = *std::max_element(priorities_.begin(), priorities_.end());
  EXPECT_NEAR(ring_.chance(kCount), largest / (total_ + largest), 1e-12);
}

TEST_F(Sampling, AllocatesNothing) {
  if (allocations() == UINT64_MAX) GTEST_SKIP() << "a sanitizer owns the heap";
  tensor::Generator generator(9);
  std::vector<std::uint32_t> indices(16);
  std::vector<float> weights(16), errors(16, 0.5f);
  const std::uint64_t before = allocations();
  for (std::uint8_t i = 0; i < 100; ++i) {
    add(ring_, 0, i, 1, i, i % 7 ? Outcome::going : Outcome::truncated);
    ring_.sample(generator, 0.4, indices, weights);
    ring_.update(indices, errors);
  }
  EXPECT_EQ(allocations() - before, 0u);
}

}  // namespace
}  // namespace trident::train
