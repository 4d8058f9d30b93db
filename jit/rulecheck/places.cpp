#include "jit/rulecheck/places.h"

#include <algorithm>
#include <cmath>

namespace trident::rulecheck {

std::vector<double> even_places() {
  constexpr double kStep = 0.37, kMost = 120;
  std::vector<double> made;
  for (int i = 1; i * kStep <= kMost; ++i) made.insert(made.end(), {i * kStep, -i * kStep});
  return made;
}

void put_in_order(std::vector<double>& places) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
}

void spread_beyond(std::size_t near, std::vector<std::size_t>& order) {
  if (order.size() <= near) return;
  // Fractional parts of multiples of the golden ratio lie evenly, however many are taken.
  constexpr double kGolden = 0.6180339887498949;
  struct Placed {
    double key;
    std::size_t index;
  };
  std::vector<Placed> placed;
  const std::size_t count = order.size() - near;
  for (std::size_t i = 0; i < count; ++i) {
    const double multiple = static_cast<double>(i) * kGolden;
    placed.push_back({multiple - std::floor(multiple), order[near + i]});
  }
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) { return a.key < b.key; });
  for (std::size_t i = 0; i < count; ++i) order[near + i] = placed[i].index;
}

}  // namespace trident::rulecheck
