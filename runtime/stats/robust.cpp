#include "runtime/stats/robust.h"

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
