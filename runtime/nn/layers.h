// Layers: functions that declare their parameters under `name` and record their ops. Recorded again, on another tape
// over the same store (another shard, inference, another batch size), a layer finds the parameters it declared before.
// Weights start He-uniform before relu and its kin, else Xavier-uniform; biases at zero.
#pragma once

#include <initializer_list>
#include <string_view>

#include "runtime/autodiff/ops.h"

namespace trident::nn {

using autodiff::Activation;
using autodiff::Bags;
using autodiff::Integers;
using autodiff::Tape;
using autodiff::Value;

/// NAME.weight [in, width], NAME.bias [width].
template <class Real>
Value<Real> linear(Tape<Real>&, std::string_view name, Value<Real> x, std::size_t width, Activation activation);

/// Linear layers NAME.0, NAME.1, ..: `activation` after each but the last.
template <class Real>
Value<Real> mlp(Tape<Real>&, std::string_view name, Value<Real> x, std::initializer_list<std::size_t> widths,
                Activation activation = Activation::relu);

/// Table NAME.rows [rows, width] with `planes` (3 for Adam, 2 for Adagrad, 1 to read only), NAME.bias [width]. Rows
/// start uniform in +- 1 / sqrt(active), `active` being how many ids a list is expected to have.
template <class Real>
Value<Real> sparse_bag(Tape<Real>&, std::string_view name, Bags bags, std::size_t rows, std::size_t width,
                       std::size_t planes, std::size_t active, Activation activation);

/// NAME.weight [taps, in, width], NAME.bias [width].
template <class Real>
Value<Real> conv1d(Tape<Real>&, std::string_view name, Value<Real> x, std::size_t taps, std::size_t width,
                   Activation activation);

/// NAME.gain, NAME.bias.
template <class Real>
Value<Real> layer_norm(Tape<Real>&, std::string_view name, Value<Real> x);

/// NAME.gain, NAME.bias, NAME.running_mean, NAME.running_variance.
template <class Real>
Value<Real> batch_norm(Tape<Real>&, std::string_view name, Value<Real> x);

/// NAME.query, .key, .value and .output, each a linear layer: queries [B, Tq, C] attend to context [B, Tk, C2].
template <class Real>
Value<Real> attention(Tape<Real>&, std::string_view name, Value<Real> queries, Value<Real> context, Integers mask,
                      std::size_t heads);

/// NAME.value and NAME.advantage, each a linear layer: Q [B, actions].
template <class Real>
Value<Real> dueling_head(Tape<Real>&, std::string_view name, Value<Real> x, std::size_t actions);

/// Takes a batch_norm behind a linear or conv1d layer into that layer's weight [.., width] and bias [width], so that
/// inference needs no normalisation: weight * s, bias * s + shift with s = gain / sqrt(running variance + epsilon).
/// The normalisation's own slices become neutral (gain sqrt(1 + epsilon), bias 0, mean 0, variance 1).
template <class Real>
void fold_batch_norm(tensor::ParameterStore<Real>& store, std::string_view layer, std::string_view norm,
                     Real epsilon = Real(1e-5));

}  // namespace trident::nn
