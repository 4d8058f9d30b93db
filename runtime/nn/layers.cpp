#include "runtime/nn/layers.h"

#include <cmath>
#include <string>

#include "runtime/base/check.h"

namespace trident::nn {

using tensor::Initialiser;
using tensor::Shape;
using tensor::SliceKind;

namespace {

std::string join(std::string_view name, std::string_view part) {
  return std::string(name) + "." + std::string(part);
}

Initialiser initialiser_before(Activation activation) {
  return activation == Activation::none ? Initialiser::xavier_uniform : Initialiser::he_uniform;
}

template <class Real>
Value<Real> vector_parameter(Tape<Real>& tape, std::string_view name, std::string_view part, std::size_t width,
                             Initialiser initialiser = Initialiser::zeros, SliceKind kind = SliceKind::bias) {
  return tape.parameter(tape.store().declare(join(name, part), {width}, kind, initialiser));
}

}  // namespace

template <class Real>
Value<Real> linear(Tape<Real>& tape, std::string_view name, Value<Real> x, std::size_t width, Activation activation) {
  const std::size_t in = x.shape[-1];
  const std::size_t weight = tape.store().declare(join(name, "weight"), {in, width}, SliceKind::weight,
                                                  initialiser_before(activation), in, width);
  const auto bias = vector_parameter(tape, name, "bias", width);
  return autodiff::linear(tape, x, tape.parameter(weight), bias, activation);
}

template <class Real>
Value<Real> mlp(Tape<Real>& tape, std::string_view name, Value<Real> x, std::initializer_list<std::size_t> widths,
                Activation activation) {
  std::size_t layer = 0;
  for (const std::size_t width : widths) {
    const bool last = layer + 1 == widths.size();
    x = linear(tape, join(name, std::to_string(layer++)), x, width, last ? Activation::none : activation);
  }
  return x;
}

template <class Real>
Value<Real> sparse_bag(Tape<Real>& tape, std::string_view name, Bags bags, std::size_t rows, std::size_t width,
                       std::size_t planes, std::size_t active, Activation activation) {
  CHECK(active > 0);
  const Real bound = 1 / std::sqrt(static_cast<Real>(active));
  auto& table = tape.store().declare_rows(join(name, "rows"), rows, width, planes, bound);
  return autodiff::sparse_bag(tape, table, bags, vector_parameter(tape, name, "bias", width), activation);
}

template <class Real>
Value<Real> conv1d(Tape<Real>& tape, std::string_view name, Value<Real> x, std::size_t taps, std::size_t width,
                   Activation activation) {
  const std::size_t in = x.shape[-1];
  const std::size_t weight = tape.store().declare(join(name, "weight"), {taps, in, width}, SliceKind::weight,
                                                  initialiser_before(activation), taps * in, taps * width);
  return autodiff::conv1d(tape, x, tape.parameter(weight), vector_parameter(tape, name, "bias", width), activation);
}

template <class Real>
Value<Real> layer_norm(Tape<Real>& tape, std::string_view name, Value<Real> x) {
  const auto gain = vector_parameter(tape, name, "gain", x.shape[-1], Initialiser::ones);
  return autodiff::layer_norm(tape, x, gain, vector_parameter(tape, name, "bias", x.shape[-1]));
}

template <class Real>
Value<Real> batch_norm(Tape<Real>& tape, std::string_view name, Value<Real> x) {
  const std::size_t width = x.shape[-1];
  const auto gain = vector_parameter(tape, name, "gain", width, Initialiser::ones);
  const auto bias = vector_parameter(tape, name, "bias", width);
  const auto mean = vector_parameter(tape, name, "running_mean", width, Initialiser::zeros, SliceKind::statistic);
  const auto variance =
      vector_parameter(tape, name, "running_variance", width, Initialiser::ones, SliceKind::statistic);
  return autodiff::batch_norm(tape, x, gain, bias, mean, variance);
}

template <class Real>
Value<Real> attention(Tape<Real>& tape, std::string_view name, Value<Real> queries, Value<Real> context, Integers mask,
                      std::size_t heads) {
  const std::size_t width = queries.shape[-1];
  const auto q = linear(tape, join(name, "query"), queries, width, Activation::none);
  const auto k = linear(tape, join(name, "key"), context, width, Activation::none);
  const auto v = linear(tape, join(name, "value"), context, width, Activation::none);
  return linear(tape, join(name, "output"), autodiff::attention(tape, q, k, v, mask, heads), width, Activation::none);
}

template <class Real>
Value<Real> dueling_head(Tape<Real>& tape, std::string_view name, Value<Real> x, std::size_t actions) {
  const auto value = linear(tape, join(name, "value"), x, 1, Activation::none);
  return autodiff::dueling(tape, value, linear(tape, join(name, "advantage"), x, actions, Activation::none));
}

template <class Real>
void fold_batch_norm(tensor::ParameterStore<Real>& store, std::string_view layer, std::string_view norm, Real epsilon) {
  const auto values = [&](std::string_view owner, std::string_view part) {
    const tensor::Slice* slice = store.find(join(owner, part));
    CHECK(slice != nullptr);
    return store.values(*slice);
  };
  const auto weight = values(layer, "weight"), shift = values(layer, "bias");
  const auto gain = values(norm, "gain"), bias = values(norm, "bias");
  const auto mean = values(norm, "running_mean"), variance = values(norm, "running_variance");
  const std::size_t width = shift.size();
  CHECK(gain.size() == width && weight.size() % width == 0);
  for (std::size_t c = 0; c < width; ++c) {
    const Real scale = gain[c] / std::sqrt(variance[c] + epsilon);
    for (std::size_t i = c; i < weight.size(); i += width) weight[i] *= scale;
    shift[c] = (shift[c] - mean[c]) * scale + bias[c];
    gain[c] = std::sqrt(1 + epsilon);
    bias[c] = mean[c] = 0;
    variance[c] = 1;
  }
}

#define INSTANTIATE(Real)                                                                                         \
  template Value<Real> linear(Tape<Real>&, std::string_view, Value<Real>, std::size_t, Activation);               \
  template Value<Real> mlp(Tape<Real>&, std::string_view, Value<Real>, std::initializer_list<std::size_t>,        \
                           Activation);                                                                           \
  template Value<Real> sparse_bag(Tape<Real>&, std::string_view, Bags, std::size_t, std::size_t, std::size_t,     \
                                  std::size_t, Activation);                                                       \
  template Value<Real> conv1d(Tape<Real>&, std::string_view, Value<Real>, std::size_t, std::size_t, Activation);  \
  template Value<Real> layer_norm(Tape<Real>&, std::string_view, Value<Real>);                                    \
  template Value<Real> batch_norm(Tape<Real>&, std::string_view, Value<Real>);                                    \
  template Value<Real> attention(Tape<Real>&, std::string_view, Value<Real>, Value<Real>, Integers, std::size_t); \
  template Value<Real> dueling_head(Tape<Real>&, std::string_view, Value<Real>, std::size_t);                     \
  template void fold_batch_norm(tensor::ParameterStore<Real>&, std::string_view, std::string_view, Real);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace trident::nn
