#include "runtime/train/replay_ring.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace trident::train {

ReplayRing::ReplayRing(const ReplayOptions& options)
    : options_(options),
      states_(options.capacity * options.state_bytes),
      next_states_(options.capacity * options.state_bytes),
      actions_(options.capacity),
      rewards_(options.capacity),
      bootstraps_(options.capacity),
      tree_(options.capacity),
      pending_states_(options.streams * options.steps * options.state_bytes),
      pending_actions_(options.streams * options.steps),
      pending_rewards_(options.streams * options.steps),
      pending_first_(options.streams),
      pending_count_(options.streams) {
  CHECK(options.capacity <= UINT32_MAX && options.streams > 0 && options.state_bytes > 0 && options.steps > 0);
  CHECK(options.discount >= 0 && options.discount <= 1 && options.alpha >= 0 && options.epsilon > 0);
}

void ReplayRing::add(std::size_t stream, std::span<const std::byte> state, std::int32_t action, double reward,
                     std::span<const std::byte> next_state, Outcome outcome) {
  CHECK(stream < options_.streams);
  CHECK(state.size() == options_.state_bytes && next_state.size() == options_.state_bytes);
  std::size_t& count = pending_count_[stream];
  const std::size_t slot = stream * options_.steps + (pending_first_[stream] + count) % options_.steps;
  std::copy(state.begin(), state.end(), pending_states_.data() + slot * options_.state_bytes);
  pending_actions_[slot] = action;
  pending_rewards_[slot] = reward;
  ++count;
  if (outcome == Outcome::going) {
    if (count == options_.steps) finish_oldest(stream, next_state, false);
  } else {
    while (count > 0) finish_oldest(stream, next_state, outcome == Outcome::terminal);
  }
}

void ReplayRing::finish_oldest(std::size_t stream, std::span<const std::byte> next_state, bool terminal) {
  const std::size_t base = stream * options_.steps, first = pending_first_[stream];
  double sum = 0, factor = 1;
  for (std::size_t k = 0; k < pending_count_[stream]; ++k) {
    sum += factor * pending_rewards_[base + (first + k) % options_.steps];
    factor *= options_.discount;
  }
  const std::byte* state = pending_states_.data() + (base + first) * options_.state_bytes;
  std::copy(state, state + options_.state_bytes, states_.data() + next_ * options_.state_bytes);
  std::copy(next_state.begin(), next_state.end(), next_states_.data() + next_ * options_.state_bytes);
  actions_[next_] = pending_actions_[base + first];
  rewards_[next_] = static_cast<float>(sum);
  bootstraps_[next_] = terminal ? 0 : static_cast<float>(factor);
  tree_.set(next_, priority_max_);
  next_ = (next_ + 1) % options_.capacity;
  size_ = std::min(size_ + 1, options_.capacity);
  pending_first_[stream] = (first + 1) % options_.steps;
  --pending_count_[stream];
}

Transition ReplayRing::operator[](std::size_t i) const {
  CHECK(i < size_);
  const std::size_t bytes = options_.state_bytes;
  return {{states_.data() + i * bytes, bytes},
          {next_states_.data() + i * bytes, bytes},
          actions_[i],
          rewards_[i],
          bootstraps_[i]};
}

void ReplayRing::sample(tensor::Generator& generator, double beta, std::span<std::uint32_t> indices,
                        std::span<float> weights) const {
  CHECK(size_ > 0 && indices.size() == weights.size() && !indices.empty());
  const double part = tree_.total() / static_cast<double>(indices.size());
  double chance_min = 1;
  for (std::size_t b = 0; b < indices.size(); ++b) {
    indices[b] = static_cast<std::uint32_t>(tree_.find((static_cast<double>(b) + generator.uniform()) * part));
    chance_min = std::min(chance_min, chance(indices[b]));
  }
  // (size chance)^-beta over its largest, which the smallest chance has: the size cancels.
  for (std::size_t b = 0; b < indices.size(); ++b) {
    weights[b] = static_cast<float>(std::pow(chance_min / chance(indices[b]), beta));
  }
}

void ReplayRing::update(std::span<const std::uint32_t> indices, std::span<const float> errors) {
  CHECK(indices.size() == errors.size());
  for (std::size_t b = 0; b < indices.size(); ++b) {
    const double priority = std::pow(std::abs(static_cast<double>(errors[b])) + options_.epsilon, options_.alpha);
    CHECK(indices[b] < size_);
    tree_.set(indices[b], priority);
    priority_max_ = std::max(priority_max_, priority);
  }
}

}  // namespace trident::train
