// Values of one variable between which a term is examined: of all magnitudes, and in even steps to either side of zero
// for periodic terms. A local extremum between two of them is followed to its place.
#pragma once

#include <cstddef>
#include <vector>

namespace trident::rulecheck {

/// Returns steps of 0.37 within 120 of zero: a period of a sine has 17 of them.
std::vector<double> even_places();

/// Sorts `places` in ascending order and removes duplicates.
void put_in_order(std::vector<double>& places);

/// Reorders `order`, from whose front some will be taken: the first `near` stay, the others are spread evenly.
void spread_beyond(std::size_t near, std::vector<std::size_t>& order);

/// Finds a local minimum of `height` between two places, as near as doubles tell.
template <class Height>
double lowest_between(double low, double high, const Height& height) {
  constexpr double kGolden = 0.6180339887498949;
  constexpr int kSteps = 48;
  double x = high - kGolden * (high - low), y = low + kGolden * (high - low);
  double at_x = height(x), at_y = height(y);
  for (int i = 0; i < kSteps && x < y; ++i) {
    if (at_x <= at_y)
      high = y, y = x, at_y = at_x, x = high - kGolden * (high - low), at_x = height(x);
    else
      low = x, x = y, at_x = at_y, y = low + kGolden * (high - low), at_y = height(y);
  }
  return at_x <= at_y ? x : y;
}

}  // namespace trident::rulecheck
