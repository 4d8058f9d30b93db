#include "runtime/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

#include "runtime/base/check.h"
#include "runtime/tensor/generator.h"

namespace trident::train {

double Schedule::rate(std::uint64_t step) const {
  if (step < warmup_steps) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  if (steps == 0) return peak;
  if (step >= steps) return last;
  const double progress = static_cast<double>(step - warmup_steps) / static_cast<double>(steps - warmup_steps);
  return last + (peak - last) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

void shuffle(std::span<std::uint32_t> order, std::uint64_t seed, std::uint64_t epoch) {
  std::iota(order.begin(), order.end(), 0u);
  tensor::Generator generator(seed, tensor::mix(tensor::hash_of("epoch") + epoch));
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[generator.below(i)]);
}

std::vector<std::uint32_t> folds_by_group(std::span<const std::uint32_t> group_of_sample, std::uint32_t folds,
                                          std::uint64_t seed) {
  CHECK(folds > 0);
  std::map<std::uint32_t, std::size_t> sizes;
  for (const std::uint32_t group : group_of_sample) ++sizes[group];
  std::vector<std::pair<std::uint32_t, std::size_t>> groups(sizes.begin(), sizes.end());
  std::vector<std::uint32_t> order(groups.size());
  shuffle(order, seed, 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return groups[a].second > groups[b].second; });
  std::vector<std::size_t> filled(folds);
  std::map<std::uint32_t, std::uint32_t> fold_of_group;
  for (const std::uint32_t index : order) {
    const auto fold = static_cast<std::uint32_t>(std::min_element(filled.begin(), filled.end()) - filled.begin());
    filled[fold] += groups[index].second;
    fold_of_group[groups[index].first] = fold;
  }
  std::vector<std::uint32_t> fold_of_sample;
  for (const std::uint32_t group : group_of_sample) fold_of_sample.push_back(fold_of_group[group]);
  return fold_of_sample;
}

}  // namespace trident::train
