#include "runtime/stats/robust.h"

#include <numeric>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/base/check.h"

namespace trident::stats {
namespace {

double median_in_place(std::vector<double>& v) {
  CHECK(!v.empty());
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  if (v.size() % 2 == 1) return *middle;
  return (*std::max_element(v.begin(), middle) + *middle) / 2;
}

}  // namespace

double median(std::span<const double> samples) {
  std::vector<double> v(samples.begin(), samples.end());
  return median_in_place(v);
}

double median_absolute_deviation(std::span<const double> samples) {
  const double center = median(samples);
  std::vector<double> v;
  v.reserve(samples.size());
  for (const double sample : samples) v.push_back(std::fabs(sample - center));
  return median_in_place(v);
}

namespace {

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  std::vector<double> ranks(values.size());
  for (std::size_t from = 0; from < order.size();) {
    std::size_t end = from + 1;
    while (end < order.size() && values[order[end]] == values[order[from]]) ++end;
    for (std::size_t i = from; i < end; ++i) ranks[order[i]] = 0.5 * static_cast<double>(from + end - 1);
    from = end;
  }
  return ranks;
}

}  // namespace

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  CHECK(a.size() == b.size());
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = 0.5 * (static_cast<double>(a.size()) - 1);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

Interval median_interval(std::span<const double> samples, double z) {
  CHECK(!samples.empty());
  std::vector<double> v(samples.begin(), samples.end());
  std::sort(v.begin(), v.end());
  const auto n = static_cast<double>(v.size());
  const double half_width = z * std::sqrt(n) / 2;
  const double lo_rank = std::floor(n / 2 - half_width);     // one-based; 0 or less: no such sample
  const double hi_rank = std::ceil(n / 2 + half_width) + 1;  // one-based; above n: no such sample
  Interval interval{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  if (lo_rank >= 1) interval.lo = v[static_cast<std::size_t>(lo_rank) - 1];
  if (hi_rank <= n) interval.hi = v[static_cast<std::size_t>(hi_rank) - 1];
  return interval;
}

Decision decide(std::span<const double> ratios, double margin, double z) {
  if (ratios.empty()) return Decision::undecided;
  const Interval interval = median_interval(ratios, z);
  if (interval.hi < 1 - margin) return Decision::better;
  if (interval.lo > 1 - margin) return Decision::worse;
  return Decision::undecided;
}

}  // namespace trident::stats
