// Gain labels: how much cheaper a graph's search made its term, and the weight of its samples for that.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "jit/learn/episodes.h"

namespace trident::learn {

/// Is added to a cost before its logarithm, since a term may cost nothing; `trident rewrite` has it too.
inline constexpr double kCostOffset = 4;

/// Measures of a term. X(Name, "name", "meaning").
#define TRIDENT_GAINS(X)                                 \
  X(none, "none", "all samples weigh alike")             \
  X(by_cost, "static", "by the static cost of the term") \
  X(by_judge, "judge", "by what the shipped judge says that it takes")
#define X(Name, name, meaning) Name,
enum class Gain : std::uint8_t { TRIDENT_GAINS(X) };
#undef X

/// Returns a function for Witness::Options::log_cost; empty for none. The judge knows no terms of a search that leaves
/// parts of its source as they are (FixedParts). `like` is that source; it and the data of `costs` must outlive
/// the result.
std::function<std::optional<double>(const egraph::Term&)> log_cost_by(Gain gain, const expr::Expr& like,
                                                                      const egraph::CostModel& costs);

/// Returns each sample's weight in the loss, 1 on average: a needed one has 1 + its graph's gain, at most 3, another 1,
/// before all are divided by their mean.
std::vector<float> weights_of(const GuideSamples& samples);

}  // namespace trident::learn
