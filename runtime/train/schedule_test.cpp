// Oracle: values of the formula at its corners; what folds and shuffles promise, checked by counting.
#include "runtime/train/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "runtime/train/team.h"

namespace trident::train {
namespace {

TEST(Schedule, WarmsUpAndFallsAlongACosine) {
  const Schedule schedule{.peak = 1, .last = 0.1, .warmup_steps = 10, .steps = 110};
  EXPECT_DOUBLE_EQ(schedule.rate(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.rate(9), 1);
  EXPECT_DOUBLE_EQ(schedule.rate(10), 1);
  EXPECT_NEAR(schedule.rate(60), 0.55, 1e-12);
  EXPECT_NEAR(schedule.rate(35), 0.1 + 0.9 * (1 + std::sqrt(0.5)) / 2, 1e-12);
  EXPECT_DOUBLE_EQ(schedule.rate(110), 0.1);
  EXPECT_DOUBLE_EQ(schedule.rate(1000), 0.1);
  EXPECT_DOUBLE_EQ((Schedule{.peak = 3}.rate(12345)), 3);
}

TEST(Folds, KeepGroupsTogetherAndSizesEven) {
  std::vector<std::uint32_t> groups;
  for (std::uint32_t i = 0; i < 1000; ++i) groups.push_back(i * i % 97 + 5000);
  const auto folds = folds_by_group(groups, 5, 1);
  std::map<std::uint32_t, std::set<std::uint32_t>> folds_of;
  std::map<std::uint32_t, int> sizes;
  for (std::size_t i = 0; i < groups.size(); ++i) folds_of[groups[i]].insert(folds[i]), ++sizes[folds[i]];
  for (const auto& [group, in] : folds_of) EXPECT_EQ(in.size(), 1u) << group;
  ASSERT_EQ(sizes.size(), 5u);
  for (const auto& [fold, size] : sizes) EXPECT_NEAR(size, 200, 20) << fold;
  EXPECT_EQ(folds_by_group(groups, 5, 1), folds);
  EXPECT_NE(folds_by_group(groups, 5, 2), folds);
}

TEST(Shuffle, IsAPermutationThatSeedAndEpochDecide) {
  std::vector<std::uint32_t> a(1000), b(1000), c(1000), d(1000);
  shuffle(a, 1, 0), shuffle(b, 1, 0), shuffle(c, 1, 1), shuffle(d, 2, 0);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(a, d);
  EXPECT_EQ(std::set<std::uint32_t>(a.begin(), a.end()).size(), 1000u);
  int fixed = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) fixed += a[i] == i;
  EXPECT_LT(fixed, 10);
}

TEST(Team, DoesEveryPieceOnceInEveryRound) {
  for (const unsigned threads : {1u, 2u, 5u}) {
    Team team(threads);
    for (int round = 0; round < 2000; ++round) {
      const std::size_t count = static_cast<std::size_t>(round % 7);
      std::atomic<int> done[7] = {};
      team.run(count, [&](std::size_t i) { done[i].fetch_add(1); });
      for (std::size_t i = 0; i < 7; ++i) ASSERT_EQ(done[i].load(), i < count ? 1 : 0);
    }
  }
}

TEST(Team, ReturnsOnlyWhenTheSlowestPieceIsDone) {
  Team team(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> done{0};
    team.run(5, [&](std::size_t) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      done.fetch_add(1);
    });
    ASSERT_EQ(done.load(), 5);
  }
}

}  // namespace
}  // namespace trident::train
