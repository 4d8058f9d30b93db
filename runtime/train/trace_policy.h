// A policy learned from traces alone: "which move led here". Whoever walks away from the goal knows at every state the
// move that made it, and its inverse is the label; no values, no bootstrapping (Takano 2023, "Self-supervision is all
// you need for solving Rubik's cube"). Where many walks meet, the label is a distribution over ways back, in which
// short ones weigh most; so its logarithms, added up along a path, order the states of a beam search (beam_search.h).
//
// Independent of the states' meaning. Options and seed decide every bit. No allocation after construction.
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
#include "runtime/train/schedule.h"

namespace trident::train {

struct TracePolicyOptions {
  std::size_t inputs = 0, moves = 0;
  std::vector<std::size_t> hidden = {512, 256, 128};  ///< widths of the relu layers
  std::size_t batch = 256;                            ///< states per step
  std::size_t states_max = 256;                       ///< that log_probabilities() takes at once
  Schedule rate = {};
  OptimiserOptions optimiser = {};
  std::uint64_t seed = 0;
};

class TracePolicy {
 public:
  /// Turns a state into `inputs` numbers, all of which it must write.
  using Encode = std::function<void(std::span<const std::byte> state, std::span<float> inputs)>;

  TracePolicy(const TracePolicyOptions& options, Encode encode);

  /// One step on a batch of states, one's bytes after the other, and the moves that lead back. The loss;
  /// InvalidArgument, and the weights as they were, when it is not finite.
  Result<double> learn(std::span<const std::byte> states, std::size_t state_bytes, std::span<const std::int32_t> back);
  /// [states, moves], natural logarithms, until the next call.
  std::span<const float> log_probabilities(std::span<const std::byte> states, std::size_t state_bytes);

  [[nodiscard]] std::uint64_t steps() const { return optimiser_->steps(); }
  [[nodiscard]] tensor::ParameterStore<float>& store() { return store_; }

 private:
  using Tape = autodiff::Tape<float>;
  using Value = autodiff::Value<float>;
  [[nodiscard]] Value network(Tape& tape, Value states) const;
  void encode_all(std::span<const std::byte> states, std::size_t state_bytes, Value inputs) const;

  TracePolicyOptions options_;
  Encode encode_;
  tensor::ParameterStore<float> store_;
  Tape learning_, acting_;
  Value state_, loss_, acting_state_, acting_logits_;
  autodiff::Integers back_;
  std::optional<Optimiser<float>> optimiser_;
  std::vector<float> logarithms_;
};

}  // namespace trident::train
