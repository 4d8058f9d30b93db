#include "jit/tir/superopt/ordering.h"

#include "runtime/base/check.h"

namespace trident::tir::superopt {

Ordering::Ordering(const nn::AccumulatorWeights& network, const Specification& specification, const Weights& weights)
    : network_(network),
      onlooker_(specification, weights),
      unit_(static_cast<double>(network.judge_unit()) * move_cost(weights)),
      movement_(network) {
  CHECK(network.features() == feature_space().features);
}

void Ordering::difference(const Places& from, const Places& to) {
  movement_.clear();
  for (std::size_t i = 0; i < kPlaces; ++i) {
    if (from[i] == to[i]) continue;
    if (from[i] != kNoFeature) movement_.take(from[i]);
    if (to[i] != kNoFeature) movement_.add(to[i]);
  }
}

nn::Accumulator Ordering::rebuilt(const State& state) {
  onlooker_.look(state, seen_);
  Places nothing;
  nothing.fill(kNoFeature);
  difference(nothing, seen_.places);
  nn::Accumulator sum = network_.bias();
  movement_.apply(sum);
  return sum;
}

void Ordering::begin(const State& first) {
  const nn::Accumulator sum = rebuilt(first);
  parents_ = {{sum, seen_.places}};
  kept_.clear();
  first_ = 0;
}

void Ordering::score(std::span<State> candidates) {
  simd::NodeVector delta;
  for (State& state : candidates) {
    const Parent& parent = parents_[state.parent - first_];
    onlooker_.look(state, seen_);
    difference(parent.places, seen_.places);
    simd::Afterstate after{&delta, network_.bias_row(nn::HeadKind::judge, 0), seen_.scalars.data(), network_.pool(1)};
    std::int32_t said = 0;
    if (movement_.sum(delta)) {
      simd::kernels().score(&said, network_.head(nn::HeadKind::judge), parent.sum, &after, 1);
    } else {  // more rows than int16 surely holds
      nn::Accumulator sum = parent.sum;
      movement_.apply(sum);
      after.delta = nullptr;
      simd::kernels().score(&said, network_.head(nn::HeadKind::judge), sum, &after, 1);
    }
    state.estimate += static_cast<float>(unit_ * said);
  }
}

void Ordering::keep(const State& state) {
  const Parent& parent = parents_[state.parent - first_];
  onlooker_.look(state, seen_);
  difference(parent.places, seen_.places);
  kept_.push_back({parent.sum, seen_.places});
  movement_.apply(kept_.back().sum);
}

void Ordering::end_layer() {
  first_ += static_cast<std::uint32_t>(parents_.size());
  parents_.swap(kept_);
  kept_.clear();
}

}  // namespace trident::tir::superopt
