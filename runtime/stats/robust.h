// Statistics for measurements that other processes disturb: medians and order statistics, because one interrupted run
// may be a hundred times too long and must not matter.
#pragma once

#include <cstdint>
#include <span>

namespace trident::stats {

/// The median (mean of the two middle values when the count is even). `samples` is not empty and holds no NaN.
double median(std::span<const double> samples);

/// Median of |sample - median|. Times 1.4826 it estimates the standard deviation of normal noise.
double median_absolute_deviation(std::span<const double> samples);

/// Spearman's: how far two lists of the same length, without NaN, have the same order, from -1 to 1; equal values share
/// their mean rank. 0 when one list is constant, or shorter than two.
double rank_correlation(std::span<const double> a, std::span<const double> b);

struct Interval {
  double lo, hi;
};

/// The interval of the true median, whatever the distribution, by the order statistics n/2 -+ z * sqrt(n) / 2 (binomial
/// counts of samples below the median). z = 1.96 holds in 95 % of cases, 3.3 in 99.9 %. Infinite ends when there are
/// too few samples to say.
Interval median_interval(std::span<const double> samples, double z);

/// The verdict so far on a growing list of per-round ratios (new time / old time).
enum class Decision : std::uint8_t { better, worse, undecided };

/// The sequential rule: better when the interval of the median lies below 1 - margin, worse when it lies above it.
/// z = 3.3 keeps the chance of a wrong "better" under 1 % with ten looks at the data (Bonferroni).
Decision decide(std::span<const double> ratios, double margin, double z = 3.3);

}  // namespace trident::stats
