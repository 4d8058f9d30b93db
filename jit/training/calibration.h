// Calibration of a network: its word beside what came true.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace trident::training {

/// Pairs of a network's guess and the truth.
using Calibration = std::vector<std::pair<double, double>>;

/// Means of both over `parts` equal parts of the pairs, in the order of the guesses. Empty for fewer pairs than parts.
inline Calibration means_of_parts(Calibration pairs, std::size_t parts) {
  std::sort(pairs.begin(), pairs.end());
  Calibration means;
  for (std::size_t part = 0; part < parts && pairs.size() >= parts; ++part) {
    const std::size_t from = part * pairs.size() / parts, to = (part + 1) * pairs.size() / parts;
    double guessed = 0, measured = 0;
    for (std::size_t i = from; i < to; ++i) guessed += pairs[i].first, measured += pairs[i].second;
    const auto count = static_cast<double>(to - from);
    means.emplace_back(guessed / count, measured / count);
  }
  return means;
}

}  // namespace trident::training
