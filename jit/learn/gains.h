// What a graph's search gained, and how much more it says than others: gain labels.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "jit/learn/episodes.h"

namespace trident::learn {

/// By what a term is judged. X(Name, "name", "meaning").
#define TRIDENT_GAINS(X)                                 \
  X(none, "none", "all samples weigh alike")             \
  X(by_cost, "static", "by the static cost of the term") \
  X(by_judge, "judge", "by what the shipped judge says that it takes")
#define X(Name, name, meaning) Name,
enum class Gain : std::uint8_t { TRIDENT_GAINS(X) };
#undef X

/// For Witness::Options::log_cost; empty for none. The judge cannot tell of terms of a search that leaves parts of its
/// source as they are (FixedParts). `like` is that source; it and what `costs` refers to must outlive what is
/// returned.
std::function<std::optional<double>(const egraph::Term&)> log_cost_by(Gain gain, const expr::Expr& like,
                                                                      const egraph::CostModel& costs);

/// What each sample weighs in the loss, 1 on average: one that was needed 1 + its graph's gain, at most 3, another 1,
/// before all are divided by their mean.
std::vector<float> weights_of(const GuideSamples& samples);

}  // namespace trident::learn
