#include "runtime/train/q_agent.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"
#include "runtime/nn/layers.h"
#include "runtime/tensor/kernels.h"

namespace trident::train {

using autodiff::Activation;
using autodiff::Mode;

double Exploration::at(std::uint64_t n) const {
  return std::max(last, first * std::pow(decay, static_cast<double>(n)));
}

QAgent::QAgent(const QAgentOptions& options, Encode encode)
    : options_(options),
      encode_(std::move(encode)),
      online_(options.seed),
      target_(options.seed),
      learning_(online_, Mode::train),
      next_online_(online_, Mode::infer),
      next_target_(target_, Mode::infer),
      acting_(online_, Mode::infer),
      draws_(options.seed, tensor::hash_of("draws")),
      moves_(options.seed, tensor::hash_of("moves")),
      indices_(options.batch),
      errors_(options.batch) {
  CHECK(options.inputs > 0 && options.actions > 0 && options.batch > 0 && options.states_max > 0);
  state_ = learning_.input("state", {options.batch, options.inputs});
  actions_ = learning_.integers("actions", {options.batch});
  wanted_ = learning_.input("target", {options.batch, 1});
  weights_ = learning_.input("weights", {options.batch, 1});
  taken_ = gather_action(learning_, network(learning_, state_), actions_);
  loss_ = huber(learning_, taken_, wanted_, weights_, static_cast<float>(options.huber_delta));
  learning_.finish(loss_);
  next_online_state_ = next_online_.input("state", {options.batch, options.inputs});
  next_online_q_ = network(next_online_, next_online_state_);
  next_online_.finish();
  next_target_state_ = next_target_.input("state", {options.batch, options.inputs});
  next_target_q_ = network(next_target_, next_target_state_);
  next_target_.finish();
  acting_state_ = acting_.input("state", {options.states_max, options.inputs});
  acting_q_ = network(acting_, acting_state_);
  acting_.finish();
  optimiser_.emplace(online_, options.optimiser);
  copy_to_target();
}

QAgent::Value QAgent::network(Tape& tape, Value states) const {
  Value h = states;
  for (std::size_t i = 0; i < options_.hidden.size(); ++i) {
    h = nn::linear(tape, "q." + std::to_string(i), h, options_.hidden[i], Activation::relu);
  }
  return nn::dueling_head(tape, "q", h, options_.actions);
}

std::size_t QAgent::best(const float* values) const {
  return static_cast<std::size_t>(std::max_element(values, values + options_.actions) - values);
}

std::span<const float> QAgent::values(std::span<const std::byte> states, std::size_t state_bytes) {
  CHECK(state_bytes > 0 && states.size() % state_bytes == 0);
  const std::size_t count = states.size() / state_bytes;
  CHECK(count <= options_.states_max);
  for (std::size_t i = 0; i < count; ++i) {
    encode_(states.subspan(i * state_bytes, state_bytes),
            acting_state_.values().subspan(i * options_.inputs, options_.inputs));
  }
  acting_.forward();
  return acting_q_.values().first(count * options_.actions);
}

void QAgent::act(std::span<const std::byte> states, std::size_t state_bytes, double epsilon,
                 std::span<std::int32_t> actions) {
  const auto q = values(states, state_bytes);
  CHECK(actions.size() * options_.actions == q.size());
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const bool random = moves_.uniform() < epsilon;
    actions[i] =
        static_cast<std::int32_t>(random ? moves_.below(options_.actions) : best(q.data() + i * options_.actions));
  }
}

double QAgent::beta() const {
  const double share = options_.beta_steps == 0
                           ? 1
                           : std::min(1.0, static_cast<double>(steps()) / static_cast<double>(options_.beta_steps));
  return options_.beta_first + (options_.beta_last - options_.beta_first) * share;
}

Result<Learned> QAgent::learn(ReplayRing& ring) {
  ring.sample(draws_, beta(), indices_, weights_.values());
  for (std::size_t b = 0; b < options_.batch; ++b) {
    const Transition transition = ring[indices_[b]];
    CHECK(transition.action >= 0 && static_cast<std::size_t>(transition.action) < options_.actions);
    const auto inputs = [&](Value value) { return value.values().subspan(b * options_.inputs, options_.inputs); };
    encode_(transition.state, inputs(state_));
    encode_(transition.next_state, inputs(next_online_state_));
    const auto next = inputs(next_online_state_);
    std::copy(next.begin(), next.end(), inputs(next_target_state_).begin());
    actions_.data[b] = transition.action;
  }
  next_online_.forward();
  next_target_.forward();
  for (std::size_t b = 0; b < options_.batch; ++b) {
    const Transition transition = ring[indices_[b]];
    const std::size_t row = b * options_.actions;
    wanted_.data[b] =
        transition.reward + transition.bootstrap * next_target_q_.data[row + best(next_online_q_.data + row)];
  }
  learning_.forward();
  if (!std::isfinite(*loss_.data)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "the loss is no longer finite at step %llu: lower the learning rate or clip the gradient",
                      static_cast<unsigned long long>(steps()));
  }
  learning_.backward();
  double error_sum = 0;
  for (std::size_t b = 0; b < options_.batch; ++b) {
    errors_[b] = taken_.data[b] - wanted_.data[b];
    error_sum += std::abs(errors_[b]);
  }
  ring.update(indices_, errors_);
  const double norm = optimiser_->step(learning_.gradient(), options_.rate.rate(steps()));
  if (options_.polyak > 0) {
    tensor::kernels<float>().lerp(online_.flat().size(), static_cast<float>(options_.polyak), online_.flat().data(),
                                  target_.flat().data());
  }
  if (options_.copy_steps > 0 && steps() % options_.copy_steps == 0) copy_to_target();
  return Learned{*loss_.data, error_sum / static_cast<double>(options_.batch), norm};
}

void QAgent::copy_to_target() {
  std::copy(online_.flat().begin(), online_.flat().end(), target_.flat().begin());
}

}  // namespace trident::train
