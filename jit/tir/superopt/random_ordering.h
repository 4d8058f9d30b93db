// Random weights for tests: results must not depend on how well states are ordered.
#pragma once

#include <random>

#include "jit/tir/superopt/features.h"

namespace trident::tir::superopt {

inline nn::PlainWeights random_weights(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  nn::PlainWeights w;
  w.space = feature_space();
  for (std::uint32_t f = 0; f < w.space.features; ++f)
    if (random() % 8 != 0) w.order.push_back(f);
  w.rows.resize(w.order.size() * nn::kLanes);
  for (auto& lane : w.rows) lane = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  for (auto& lane : w.bias) lane = static_cast<std::int32_t>(random() % 2000) - 1000;
  w.pool_factor = 3000;
  nn::PlainWeights::Head& head = w.heads[static_cast<std::size_t>(nn::HeadKind::judge)];
  for (auto& x : head.w1) x = static_cast<std::int8_t>(random());
  for (auto& x : head.ws) x = static_cast<std::int8_t>(random());
  for (auto& x : head.w2) x = static_cast<std::int8_t>(random());
  head.b2 = 17;
  for (auto& x : head.bias[0]) x = static_cast<std::int32_t>(random() % 20'000) - 10'000;
  w.judge_unit = 0.0005f;
  return w;
}

}  // namespace trident::tir::superopt
