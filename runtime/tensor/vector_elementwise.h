// Activations, normalisation, reductions and optimiser steps over arrays. See vector_types.h for why it is written so.
#pragma once

#include "runtime/tensor/kernels.h"
#include "runtime/tensor/vector_types.h"

namespace trident::tensor::TRIDENT_TENSOR_LEVEL {

/// The first `count` lanes from memory, zeros behind them.
template <class Real>
inline Vector<Real> load_part(const Real* from, std::size_t count) {
  if (count == kLanes<Real>) return load(from);
  Vector<Real> v{};
  __builtin_memcpy(&v, from, count * sizeof(Real));
  return v;
}
template <class Real>
inline void store_part(Real* to, Vector<Real> v, std::size_t count) {
  if (count == kLanes<Real>) return store<Real>(to, v);
  __builtin_memcpy(to, &v, count * sizeof(Real));
}

/// out[i] = f(in[i]...), by vectors.
template <class Real, class F, class... Inputs>
inline void map(std::size_t count, Real* out, F f, const Inputs*... in) {
  std::size_t i = 0;
  for (; i + kLanes<Real> <= count; i += kLanes<Real>) store<Real>(out + i, f(load<Real>(in + i)...));
  if (i < count) store_part<Real>(out + i, f(load_part<Real>(in + i, count - i)...), count - i);
}

inline float error_function(float x) {
  return __builtin_erff(x);
}
inline double error_function(double x) {
  return __builtin_erf(x);
}
inline float exponential(float x) {
  return __builtin_expf(x);
}
inline double exponential(double x) {
  return __builtin_exp(x);
}

/// x Phi(x), by the error function.
template <class Real>
inline Real gelu(Real x) {
  return x * Real{0.5} * (Real{1} + error_function(x * static_cast<Real>(0.70710678118654752440)));
}
template <class Real>
inline Real gelu_slope(Real x) {
  const Real density = static_cast<Real>(0.39894228040143267794) * exponential(Real{-0.5} * x * x);
  return Real{0.5} * (Real{1} + error_function(x * static_cast<Real>(0.70710678118654752440))) + x * density;
}

template <class Real>
void bias_activate(std::size_t rows, std::size_t columns, const Real* bias, Activation activation, Real* before,
                   Real* y) {
  using V = Vector<Real>;
  const V zero{}, one = splat<Real>(1);
  for (std::size_t r = 0; r < rows; ++r) {
    Real* row = y + r * columns;
    switch (activation) {
      case Activation::none:
        if (bias)
          map<Real>(
              columns, row, [](V x, V b) { return x + b; }, row, bias);
        break;
      case Activation::relu:
        if (bias)
          map<Real>(
              columns, row, [&](V x, V b) { return larger<Real>(x + b, zero); }, row, bias);
        else
          map<Real>(
              columns, row, [&](V x) { return larger<Real>(x, zero); }, row);
        break;
      case Activation::clipped_relu: {
        const auto clip = [&](V x) { return smaller<Real>(larger<Real>(x, zero), one); };
        if (bias)
          map<Real>(
              columns, row, [&](V x, V b) { return clip(x + b); }, row, bias);
        else
          map<Real>(columns, row, clip, row);
        break;
      }
      case Activation::gelu:
        if (bias)
          map<Real>(
              columns, row, [](V x, V b) { return x + b; }, row, bias);
        if (before) __builtin_memcpy(before + r * columns, row, columns * sizeof(Real));
        for (std::size_t c = 0; c < columns; ++c) row[c] = gelu(row[c]);
        break;
    }
  }
}

template <class Real>
void activation_backward(std::size_t count, Activation activation, const Real* before, const Real* y, const Real* dy,
                         Real* dx) {
  using V = Vector<Real>;
  const V zero{}, one = splat<Real>(1);
  switch (activation) {
    case Activation::none:
      if (dx != dy) __builtin_memcpy(dx, dy, count * sizeof(Real));
      break;
    case Activation::relu:
      map<Real>(
          count, dx, [&](V value, V d) { return value > zero ? d : zero; }, y, dy);
      break;
    case Activation::clipped_relu:
      map<Real>(
          count, dx,
          [&](V value, V d) {
            const V inside = value < one ? d : zero;
            return value > zero ? inside : zero;
          },
          y, dy);
      break;
    case Activation::gelu:
      for (std::size_t i = 0; i < count; ++i) dx[i] = dy[i] * gelu_slope(before[i]);
      break;
  }
}

template <class Real>
void column_sums(std::size_t rows, std::size_t columns, const Real* x, bool accumulate, Real* out) {
  std::size_t c = 0;
  for (; c + 4 * kLanes<Real> <= columns; c += 4 * kLanes<Real>) {
    Vector<Real> sums[4] = {};
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t v = 0; v < 4; ++v) sums[v] += load(x + r * columns + c + v * kLanes<Real>);
    }
    for (std::size_t v = 0; v < 4; ++v) {
      Real* at = out + c + v * kLanes<Real>;
      store<Real>(at, accumulate ? load(at) + sums[v] : sums[v]);
    }
  }
  for (; c < columns; c += kLanes<Real>) {
    const std::size_t part = columns - c < kLanes<Real> ? columns - c : kLanes<Real>;
    Vector<Real> sum{};
    for (std::size_t r = 0; r < rows; ++r) sum += load_part(x + r * columns + c, part);
    if (accumulate) sum += load_part(out + c, part);
    store_part<Real>(out + c, sum, part);
  }
}

template <class Real>
void add(std::size_t count, const Real* a, const Real* b, Real* out) {
  map<Real>(
      count, out, [](Vector<Real> x, Vector<Real> y) { return x + y; }, a, b);
}
template <class Real>
void multiply(std::size_t count, const Real* a, const Real* b, Real* out) {
  map<Real>(
      count, out, [](Vector<Real> x, Vector<Real> y) { return x * y; }, a, b);
}
template <class Real>
void multiply_add(std::size_t count, const Real* a, const Real* b, Real* out) {
  map<Real>(
      count, out, [](Vector<Real> x, Vector<Real> y, Vector<Real> z) { return z + x * y; }, a, b, out);
}
template <class Real>
void axpy(std::size_t count, Real alpha, const Real* x, Real* y) {
  map<Real>(
      count, y, [=](Vector<Real> from, Vector<Real> to) { return to + from * alpha; }, x, y);
}
template <class Real>
void scale(std::size_t count, Real alpha, Real* x) {
  map<Real>(
      count, x, [=](Vector<Real> v) { return v * alpha; }, x);
}
template <class Real>
void lerp(std::size_t count, Real rate, const Real* source, Real* target) {
  map<Real>(
      count, target, [=](Vector<Real> s, Vector<Real> t) { return t + (s - t) * rate; }, source, target);
}

template <class Real>
double sum_of_squares(std::size_t count, const Real* x) {
  // By blocks whose sums are added in double: a vector of a million squares in f32 loses three digits otherwise.
  constexpr std::size_t kBlock = 1024;
  double total = 0;
  for (std::size_t from = 0; from < count; from += kBlock) {
    const std::size_t end = count - from < kBlock ? count : from + kBlock;
    Vector<Real> sum{};
    std::size_t i = from;
    for (; i + kLanes<Real> <= end; i += kLanes<Real>) sum += load(x + i) * load(x + i);
    if (i < end) {
      const Vector<Real> rest = load_part(x + i, end - i);
      sum += rest * rest;
    }
    total += static_cast<double>(lane_sum<Real>(sum));
  }
  return total;
}

template <class Real>
void layer_norm(std::size_t rows, std::size_t columns, Real epsilon, const Real* x, const Real* gain, const Real* bias,
                Real* normalised, Real* inverse_deviation, Real* y) {
  using V = Vector<Real>;
  for (std::size_t r = 0; r < rows; ++r) {
    const Real* row = x + r * columns;
    V sum{};
    std::size_t i = 0;
    for (; i + kLanes<Real> <= columns; i += kLanes<Real>) sum += load(row + i);
    if (i < columns) sum += load_part(row + i, columns - i);
    const Real mean = lane_sum<Real>(sum) / static_cast<Real>(columns);
    Real* hat = normalised + r * columns;
    map<Real>(
        columns, hat, [=](V v) { return v - mean; }, row);
    const Real variance = static_cast<Real>(sum_of_squares(columns, hat)) / static_cast<Real>(columns);
    const Real inverse = Real{1} / square_root(variance + epsilon);
    inverse_deviation[r] = inverse;
    scale(columns, inverse, hat);
    map<Real>(
        columns, y + r * columns, [](V v, V g, V b) { return v * g + b; }, hat, gain, bias);
  }
}

template <class Real>
void layer_norm_backward(std::size_t rows, std::size_t columns, const Real* gain, const Real* normalised,
                         const Real* inverse_deviation, const Real* dy, bool accumulate, Real* dx, Real* d_gain,
                         Real* d_bias) {
  using V = Vector<Real>;
  for (std::size_t r = 0; r < rows; ++r) {
    const Real* hat = normalised + r * columns;
    const Real* d = dy + r * columns;
    multiply_add(columns, d, hat, d_gain);
    add(columns, d_bias, d, d_bias);
    if (!dx) continue;
    V sum{}, dot{};
    for (std::size_t i = 0; i < columns; i += kLanes<Real>) {
      const std::size_t part = columns - i < kLanes<Real> ? columns - i : kLanes<Real>;
      const V scaled = load_part(d + i, part) * load_part(gain + i, part);
      sum += scaled;
      dot += scaled * load_part(hat + i, part);
    }
    const Real mean = lane_sum<Real>(sum) / static_cast<Real>(columns);
    const Real mean_dot = lane_sum<Real>(dot) / static_cast<Real>(columns);
    const Real inverse = inverse_deviation[r];
    Real* out = dx + r * columns;
    const auto slope = [=](V dv, V g, V h) { return (dv * g - mean - h * mean_dot) * inverse; };
    if (accumulate)
      map<Real>(
          columns, out, [=](V dv, V g, V h, V o) { return o + slope(dv, g, h); }, d, gain, hat, out);
    else
      map<Real>(columns, out, slope, d, gain, hat);
  }
}

/// One vector of Adam: the weight's new value; m and v are updated in place.
template <class Real>
inline Vector<Real> adam_update(const AdamStep<Real>& step, Vector<Real> gradient, Vector<Real> weight, Vector<Real>& m,
                                Vector<Real>& v) {
  m = m + (gradient - m) * (Real{1} - step.beta1);
  v = v + (gradient * gradient - v) * (Real{1} - step.beta2);
  const Vector<Real> deviation = square_root(v * step.correction2) + step.epsilon;
  return weight * (Real{1} - step.rate * step.decay) - m * (step.rate * step.correction1) / deviation;
}

template <class Real>
void adam(std::size_t count, const AdamStep<Real>& step, const Real* gradient, Real* weight, Real* m, Real* v) {
  const AdamStep<Real> s = step;
  for (std::size_t i = 0; i < count; i += kLanes<Real>) {
    const std::size_t part = count - i < kLanes<Real> ? count - i : kLanes<Real>;
    const Vector<Real> g = load_part(gradient + i, part) * s.gradient_scale;
    Vector<Real> mv = load_part(m + i, part), vv = load_part(v + i, part);
    store_part<Real>(weight + i, adam_update<Real>(s, g, load_part(weight + i, part), mv, vv), part);
    store_part<Real>(m + i, mv, part);
    store_part<Real>(v + i, vv, part);
  }
}

template <class Real>
void sgd(std::size_t count, const SgdStep<Real>& step, const Real* gradient, Real* weight, Real* velocity) {
  using V = Vector<Real>;
  const SgdStep<Real> s = step;
  map<Real>(
      count, velocity, [=](V g, V w, V u) { return u * s.momentum + g * s.gradient_scale + w * s.decay; }, gradient,
      weight, velocity);
  map<Real>(
      count, weight, [=](V w, V u) { return w - u * s.rate; }, weight, velocity);
}

}  // namespace trident::tensor::TRIDENT_TENSOR_LEVEL
