// layer_norm and batch_norm.
#include <cmath>
#include <cstring>

#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"

namespace trident::autodiff {
namespace {

template <class Real>
struct LayerNorm : Op<Real> {
  Operand<Real> x, gain, bias;
  Value<Real> y;
  Real *normalised, *inverse_deviation;
  std::size_t rows, columns;
  Real epsilon;
};

template <class Real>
void layer_forward(Op<Real>& base) {
  auto& op = static_cast<LayerNorm<Real>&>(base);
  op.kernels->layer_norm(op.rows, op.columns, op.epsilon, op.x.data, op.gain.data, op.bias.data, op.normalised,
                         op.inverse_deviation, op.y.data);
}

template <class Real>
void layer_backward(Op<Real>& base) {
  auto& op = static_cast<LayerNorm<Real>&>(base);
  op.gain.clear_unless_accumulated(op.columns);  // the kernel always adds to these
  op.bias.clear_unless_accumulated(op.columns);
  op.kernels->layer_norm_backward(op.rows, op.columns, op.gain.data, op.normalised, op.inverse_deviation, op.y.gradient,
                                  op.x.accumulate, op.x.gradient, op.gain.gradient, op.bias.gradient);
}

template <class Real>
struct BatchNorm : Op<Real> {
  Operand<Real> x, gain, bias, running_mean, running_variance;
  Value<Real> y;
  Real *normalised, *mean, *variance, *inverse_deviation;
  const Scratch<Real>* sums;
  std::size_t rows, columns;
  Real epsilon;
};

template <class Real>
void normalise(BatchNorm<Real>& op, const Real* mean, const Real* variance) {
  for (std::size_t c = 0; c < op.columns; ++c) op.inverse_deviation[c] = 1 / std::sqrt(variance[c] + op.epsilon);
  for (std::size_t r = 0; r < op.rows; ++r) {
    const Real* x = op.x.data + r * op.columns;
    Real *hat = op.normalised + r * op.columns, *y = op.y.data + r * op.columns;
    for (std::size_t c = 0; c < op.columns; ++c) {
      hat[c] = (x[c] - mean[c]) * op.inverse_deviation[c];
      y[c] = hat[c] * op.gain.data[c] + op.bias.data[c];
    }
  }
}

template <class Real>
void batch_forward_infer(Op<Real>& base) {
  auto& op = static_cast<BatchNorm<Real>&>(base);
  normalise(op, op.running_mean.data, op.running_variance.data);
}

template <class Real>
void batch_forward(Op<Real>& base) {
  auto& op = static_cast<BatchNorm<Real>&>(base);
  const Real share = Real{1} / static_cast<Real>(op.rows);
  op.kernels->column_sums(op.rows, op.columns, op.x.data, false, op.mean);
  op.kernels->scale(op.columns, share, op.mean);
  std::memset(op.variance, 0, op.columns * sizeof(Real));
  for (std::size_t r = 0; r < op.rows; ++r) {
    const Real* x = op.x.data + r * op.columns;
    for (std::size_t c = 0; c < op.columns; ++c) op.variance[c] += (x[c] - op.mean[c]) * (x[c] - op.mean[c]);
  }
  op.kernels->scale(op.columns, share, op.variance);
  normalise(op, op.mean, op.variance);
}

template <class Real>
void batch_backward(Op<Real>& base) {
  auto& op = static_cast<BatchNorm<Real>&>(base);
  const Real n = static_cast<Real>(op.rows);
  Real *sum = op.sums->data, *dot = sum + op.columns;  // over rows: of dy, of dy times the normalised x
  op.kernels->column_sums(op.rows, op.columns, op.y.gradient, false, sum);
  std::memset(dot, 0, op.columns * sizeof(Real));
  for (std::size_t r = 0; r < op.rows; ++r) {
    op.kernels->multiply_add(op.columns, op.y.gradient + r * op.columns, op.normalised + r * op.columns, dot);
  }
  if (op.x.gradient) {
    for (std::size_t r = 0; r < op.rows; ++r) {
      const Real *d = op.y.gradient + r * op.columns, *hat = op.normalised + r * op.columns;
      Real* out = op.x.gradient + r * op.columns;
      for (std::size_t c = 0; c < op.columns; ++c) {
        const Real slope = op.gain.data[c] * op.inverse_deviation[c] * (d[c] - sum[c] / n - hat[c] * dot[c] / n);
        out[c] = op.x.accumulate ? out[c] + slope : slope;
      }
    }
  }
  const Real unbiased = op.rows > 1 ? n / (n - 1) : 1;
  const auto give = [&](const Operand<Real>& operand, auto of) {
    if (!operand.gradient) return;
    for (std::size_t c = 0; c < op.columns; ++c) {
      operand.gradient[c] = (operand.accumulate ? operand.gradient[c] : Real{0}) + of(c);
    }
  };
  give(op.gain, [&](std::size_t c) { return dot[c]; });
  give(op.bias, [&](std::size_t c) { return sum[c]; });
  give(op.running_mean, [&](std::size_t c) { return op.running_mean.data[c] - op.mean[c]; });
  give(op.running_variance, [&](std::size_t c) { return op.running_variance.data[c] - unbiased * op.variance[c]; });
}

}  // namespace

template <class Real>
Value<Real> layer_norm(Tape<Real>& tape, Value<Real> x, Value<Real> gain, Value<Real> bias, Real epsilon) {
  const std::size_t columns = x.shape[-1];
  CHECK(gain.shape == Shape{columns} && bias.shape == Shape{columns});
  auto* op = tape.template take<LayerNorm<Real>>(layer_forward<Real>, layer_backward<Real>);
  op->x = Operand<Real>(x);
  op->gain = Operand<Real>(gain);
  op->bias = Operand<Real>(bias);
  op->rows = x.shape.rows();
  op->columns = columns;
  op->epsilon = epsilon;
  op->y = tape.result(x.shape);
  op->normalised = tape.arena().template take<Real>(x.shape.count());
  op->inverse_deviation = tape.arena().template take<Real>(op->rows);
  tape.record(op, {&op->gain, &op->bias, &op->x},
              {OpKind::layer_norm, {x.id, gain.id, bias.id}, {op->y.id}, {{"epsilon", static_cast<double>(epsilon)}}});
  return op->y;
}

template <class Real>
Value<Real> batch_norm(Tape<Real>& tape, Value<Real> x, Value<Real> gain, Value<Real> bias, Value<Real> running_mean,
                       Value<Real> running_variance, Real epsilon) {
  const std::size_t columns = x.shape[-1];
  for (const Value<Real>* value : {&gain, &bias, &running_mean, &running_variance})
    CHECK(value->shape == Shape{columns});
  auto* op = tape.template take<BatchNorm<Real>>(
      tape.mode() == Mode::train ? batch_forward<Real> : batch_forward_infer<Real>, batch_backward<Real>);
  op->x = Operand<Real>(x);
  op->gain = Operand<Real>(gain);
  op->bias = Operand<Real>(bias);
  op->running_mean = Operand<Real>(running_mean);
  op->running_variance = Operand<Real>(running_variance);
  op->rows = x.shape.rows();
  op->columns = columns;
  op->epsilon = epsilon;
  op->y = tape.result(x.shape);
  op->normalised = tape.arena().template take<Real>(x.shape.count());
  op->mean = tape.arena().template take<Real>(columns);
  op->variance = tape.arena().template take<Real>(columns);
  op->inverse_deviation = tape.arena().template take<Real>(columns);
  op->sums = tape.scratch(2 * columns);
  tape.record(op, {&op->x, &op->gain, &op->bias, &op->running_mean, &op->running_variance},
              {OpKind::batch_norm,
               {x.id, gain.id, bias.id, running_mean.id, running_variance.id},
               {op->y.id},
               {{"epsilon", static_cast<double>(epsilon)}}});
  return op->y;
}

template Value<float> layer_norm(Tape<float>&, Value<float>, Value<float>, Value<float>, float);
template Value<double> layer_norm(Tape<double>&, Value<double>, Value<double>, Value<double>, double);
template Value<float> batch_norm(Tape<float>&, Value<float>, Value<float>, Value<float>, Value<float>, Value<float>,
                                 float);
template Value<double> batch_norm(Tape<double>&, Value<double>, Value<double>, Value<double>, Value<double>,
                                  Value<double>, double);

}  // namespace trident::autodiff
