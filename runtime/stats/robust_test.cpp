#include "runtime/stats/robust.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace trident::stats {
namespace {

// The definition itself: half of the samples lie on each side.
double sorted_median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

TEST(Robust, MedianAndDeviationAgreeWithSorting) {
  std::mt19937_64 random(1);
  std::cauchy_distribution<double> wild(0, 1);
  for (std::size_t n = 1; n < 60; ++n) {
    std::vector<double> v(n);
    for (double& x : v) x = wild(random);
    const double m = sorted_median(v);
    EXPECT_EQ(median(v), m);
    std::vector<double> deviations;
    for (const double x : v) deviations.push_back(std::fabs(x - m));
    EXPECT_EQ(median_absolute_deviation(v), sorted_median(deviations));
  }
}

// Draws many sample sets of a skewed distribution whose median is known and counts how often the interval holds it.
TEST(Robust, IntervalHoldsTheMedianAsOftenAsPromised) {
  std::mt19937_64 random(2);
  std::lognormal_distribution<double> skewed(0, 1);  // median 1
  for (const std::size_t n : {15u, 40u, 101u}) {
    int held = 0;
    constexpr int kTrials = 4000;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> v(n);
      for (double& x : v) x = skewed(random);
      const Interval interval = median_interval(v, 1.96);
      held += interval.lo <= 1 && 1 <= interval.hi ? 1 : 0;
    }
    EXPECT_GE(held, kTrials * 0.94) << n;
    EXPECT_LE(held, kTrials * 0.995) << n;
  }
  EXPECT_TRUE(std::isinf(median_interval(std::vector<double>{1, 2, 3}, 3.3).hi));
}

// Ratios around `center` with one run in five disturbed by another process.
std::vector<double> disturbed_ratios(double center, std::size_t n, std::mt19937_64& random) {
  std::normal_distribution<double> noise(0, 0.02);
  std::vector<double> v(n);
  for (double& x : v) {
    x = center + noise(random);
    if (random() % 5 == 0) x *= random() % 2 == 0 ? 3.0 : 0.4;
  }
  return v;
}

TEST(Robust, SequentialRuleFindsGainsAndRarelyInventsThem) {
  std::mt19937_64 random(3);
  constexpr int kTrials = 500;
  int found = 0;
  int missed_loss = 0;
  int invented = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    found += decide(disturbed_ratios(0.95, 150, random), 0.005) == Decision::better ? 1 : 0;
    missed_loss += decide(disturbed_ratios(1.05, 150, random), 0.005) != Decision::worse ? 1 : 0;
    const auto equal = disturbed_ratios(1.0, 250, random);
    for (std::size_t n = 25; n <= 250; n += 25)
      if (decide(std::span(equal).first(n), 0.0) == Decision::better) {
        ++invented;
        break;
      }
  }
  EXPECT_GE(found, kTrials * 0.99);
  EXPECT_LE(missed_loss, kTrials * 0.01);
  EXPECT_LE(invented, kTrials * 0.012);
}

TEST(RankCorrelation, WorkedOutByHand) {
  const auto of = [](std::vector<double> a, std::vector<double> b) { return rank_correlation(a, b); };
  EXPECT_DOUBLE_EQ(of({1, 2, 3, 4}, {10, 200, 3000, 40000}), 1);
  EXPECT_DOUBLE_EQ(of({1, 2, 3, 4}, {9, 7, 5, -1}), -1);
  // Without ties 1 - 6 sum d^2 / (n (n^2 - 1)): differences 1, 1, 0, 1, 1 of 5.
  EXPECT_DOUBLE_EQ(of({1, 2, 3, 4, 5}, {2, 1, 3, 5, 4}), 1 - 6.0 * 4 / 120);
  // Ranks 1.5, 1.5, 3 against 1, 2, 3: covariance 1.5, variances 1.5 and 2.
  EXPECT_DOUBLE_EQ(of({7, 7, 8}, {1, 2, 3}), 1.5 / std::sqrt(3.0));
  EXPECT_EQ(of({1, 1, 1}, {1, 2, 3}), 0);
  EXPECT_EQ(of({}, {}), 0);
}

}  // namespace
}  // namespace trident::stats
