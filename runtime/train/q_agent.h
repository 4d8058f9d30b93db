// Values of actions learned from a replay ring: double Q-learning (van Hasselt et al. 2016) with a dueling network
// (Wang et al. 2016), independent of the states' meaning.
//
//   target = reward + bootstrap * Q_target(s', argmax_a Q_online(s', a))      loss: Huber, by importance weights
//
// The target network is moved towards the online one by Polyak averaging after each step, copied whole every so many
// steps, or both. Options and seed decide every bit. No allocation after construction. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/autodiff/tape.h"
#include "runtime/base/result.h"
#include "runtime/train/optimiser.h"
#include "runtime/train/replay_ring.h"
#include "runtime/train/schedule.h"

namespace trident::train {

/// How often a random action is taken: max(last, first * decay^n) after n episodes (or whatever the caller counts).
struct Exploration {
  double first = 1, last = 0.01, decay = 0.999;
  [[nodiscard]] double at(std::uint64_t n) const;
};

struct QAgentOptions {
  std::size_t inputs = 0, actions = 0;
  std::vector<std::size_t> hidden = {256, 128, 64};  ///< widths of the relu layers before the dueling head
  std::size_t batch = 64;                            ///< transitions per step
  std::size_t states_max = 64;                       ///< that values() and act() take at once
  Schedule rate = {};
  OptimiserOptions optimiser = {};
  double huber_delta = 1;
  double polyak = 0.01;                    ///< target += polyak * (online - target) after each step; 0: never
  std::uint64_t copy_steps = 200;          ///< target = online every so many steps; 0: never
  double beta_first = 0.4, beta_last = 1;  ///< exponent of the importance weights, over beta_steps steps
  std::uint64_t beta_steps = 100'000;
  std::uint64_t seed = 0;
};

/// Figures of one learning step.
struct Learned {
  double loss;
  double error_mean;     ///< of the absolute temporal-difference errors
  double gradient_norm;  ///< before clipping
};

class QAgent {
 public:
  /// Turns a state, as the ring holds it, into `inputs` numbers, all of which it must write.
  using Encode = std::function<void(std::span<const std::byte> state, std::span<float> inputs)>;

  QAgent(const QAgentOptions& options, Encode encode);

  /// Values of the actions in `states`, one state's bytes after the other: [states, actions], until the next call.
  std::span<const float> values(std::span<const std::byte> states, std::size_t state_bytes);
  /// An action for each of `states`: with chance `epsilon` a random one, else the best (the first of equals).
  void act(std::span<const std::byte> states, std::size_t state_bytes, double epsilon, std::span<std::int32_t> actions);

  /// One step from a sample of `ring`, whose priorities it renews. InvalidArgument, and neither weights nor priorities
  /// changed, when the loss is not finite.
  Result<Learned> learn(ReplayRing& ring);

  [[nodiscard]] std::uint64_t steps() const { return optimiser_->steps(); }
  [[nodiscard]] double beta() const;
  /// The networks, for files and tests. Both have the slices q.N.weight, q.N.bias, and of q.value and q.advantage.
  [[nodiscard]] tensor::ParameterStore<float>& online() { return online_; }
  [[nodiscard]] tensor::ParameterStore<float>& target() { return target_; }
  /// Makes the target the online network.
  void copy_to_target();

 private:
  using Tape = autodiff::Tape<float>;
  using Value = autodiff::Value<float>;
  [[nodiscard]] Value network(Tape& tape, Value states) const;
  [[nodiscard]] std::size_t best(const float* values) const;

  QAgentOptions options_;
  Encode encode_;
  tensor::ParameterStore<float> online_, target_;
  Tape learning_, next_online_, next_target_, acting_;
  Value state_, taken_, wanted_, weights_, loss_;                                // of learning_
  autodiff::Integers actions_;                                                   // of learning_
  Value next_online_state_, next_online_q_, next_target_state_, next_target_q_;  // of next_online_, next_target_
  Value acting_state_, acting_q_;                                                // of acting_
  std::optional<Optimiser<float>> optimiser_;                                    // once all slices are declared
  tensor::Generator draws_, moves_;
  std::vector<std::uint32_t> indices_;
  std::vector<float> errors_;
};

}  // namespace trident::train
