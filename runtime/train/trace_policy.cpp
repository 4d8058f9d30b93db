#include "runtime/train/trace_policy.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"
#include "runtime/nn/layers.h"

namespace trident::train {

using autodiff::Activation;
using autodiff::Mode;

TracePolicy::TracePolicy(const TracePolicyOptions& options, Encode encode)
    : options_(options),
      encode_(std::move(encode)),
      store_(options.seed),
      learning_(store_, Mode::train),
      acting_(store_, Mode::infer),
      logarithms_(options.states_max * options.moves) {
  CHECK(options.inputs > 0 && options.moves > 0 && options.batch > 0 && options.states_max > 0);
  state_ = learning_.input("state", {options.batch, options.inputs});
  back_ = learning_.integers("back", {options.batch});
  loss_ = softmax_cross_entropy(learning_, network(learning_, state_), back_, {});
  learning_.finish(loss_);
  acting_state_ = acting_.input("state", {options.states_max, options.inputs});
  acting_logits_ = network(acting_, acting_state_);
  acting_.finish();
  optimiser_.emplace(store_, options.optimiser);
}

TracePolicy::Value TracePolicy::network(Tape& tape, Value states) const {
  Value h = states;
  for (std::size_t i = 0; i < options_.hidden.size(); ++i)
    h = nn::linear(tape, "policy." + std::to_string(i), h, options_.hidden[i], Activation::relu);
  return nn::linear(tape, "policy.move", h, options_.moves, Activation::none);
}

void TracePolicy::encode_all(std::span<const std::byte> states, std::size_t state_bytes, Value inputs) const {
  for (std::size_t i = 0; i * state_bytes < states.size(); ++i)
    encode_(states.subspan(i * state_bytes, state_bytes),
            inputs.values().subspan(i * options_.inputs, options_.inputs));
}

Result<double> TracePolicy::learn(std::span<const std::byte> states, std::size_t state_bytes,
                                  std::span<const std::int32_t> back) {
  CHECK(back.size() == options_.batch && states.size() == options_.batch * state_bytes);
  encode_all(states, state_bytes, state_);
  for (std::size_t i = 0; i < back.size(); ++i) {
    CHECK(back[i] >= 0 && static_cast<std::size_t>(back[i]) < options_.moves);
    back_.data[i] = back[i];
  }
  learning_.forward();
  if (!std::isfinite(*loss_.data))
    return make_error(ErrorCode::kInvalidArgument,
                      "the loss is no longer finite at step %llu: lower the learning rate or clip the gradient",
                      static_cast<unsigned long long>(steps()));
  learning_.backward();
  optimiser_->step(learning_.gradient(), options_.rate.rate(steps()));
  return double{*loss_.data};
}

std::span<const float> TracePolicy::log_probabilities(std::span<const std::byte> states, std::size_t state_bytes) {
  CHECK(state_bytes > 0 && states.size() % state_bytes == 0);
  const std::size_t count = states.size() / state_bytes, moves = options_.moves;
  CHECK(count <= options_.states_max);
  encode_all(states, state_bytes, acting_state_);
  acting_.forward();
  for (std::size_t i = 0; i < count; ++i) {
    const float* const logits = acting_logits_.data + i * moves;
    const float most = *std::max_element(logits, logits + moves);
    float sum = 0;
    for (std::size_t m = 0; m < moves; ++m) sum += std::exp(logits[m] - most);
    for (std::size_t m = 0; m < moves; ++m) logarithms_[i * moves + m] = logits[m] - most - std::log(sum);
  }
  return std::span<const float>(logarithms_).first(count * moves);
}

}  // namespace trident::train
