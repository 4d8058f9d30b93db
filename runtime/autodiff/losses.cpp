// Losses: each gives one element, and its cost is nothing beside a matrix product, so they are plain loops.
#include <cmath>

#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"

namespace trident::autodiff {
namespace {

template <class Real>
struct Difference : Op<Real> {
  Operand<Real> x, target;
  const Real* weights;
  Value<Real> loss;
  std::size_t count;
  Real delta;  // 0: squared
};

template <class Real>
void difference_forward(Op<Real>& base) {
  auto& op = static_cast<Difference<Real>&>(base);
  double sum = 0;
  for (std::size_t i = 0; i < op.count; ++i) {
    const Real d = op.x.data[i] - op.target.data[i];
    const Real size = std::abs(d);
    Real value = d * d;
    if (op.delta > 0) value = size <= op.delta ? d * d / 2 : op.delta * (size - op.delta / 2);
    sum += static_cast<double>(op.weights ? value * op.weights[i] : value);
  }
  op.loss.data[0] = static_cast<Real>(sum / static_cast<double>(op.count));
}

template <class Real>
void difference_backward(Op<Real>& base) {
  auto& op = static_cast<Difference<Real>&>(base);
  const Real scale = op.loss.gradient[0] / static_cast<Real>(op.count);
  for (std::size_t i = 0; i < op.count; ++i) {
    Real slope = op.x.data[i] - op.target.data[i];
    if (op.delta > 0)
      slope = slope > op.delta ? op.delta : (slope < -op.delta ? -op.delta : slope);
    else
      slope *= 2;
    slope *= op.weights ? scale * op.weights[i] : scale;
    if (op.x.gradient) op.x.gradient[i] = op.x.accumulate ? op.x.gradient[i] + slope : slope;
    if (op.target.gradient) op.target.gradient[i] = op.target.accumulate ? op.target.gradient[i] - slope : -slope;
  }
}

template <class Real>
Value<Real> difference(Tape<Real>& tape, OpKind kind, Value<Real> x, Value<Real> target, Value<Real> weights,
                       Real delta) {
  CHECK(x.shape.count() == target.shape.count() && (!weights.present() || weights.shape.count() == x.shape.count()));
  auto* op = tape.template take<Difference<Real>>(difference_forward<Real>, difference_backward<Real>);
  op->x = Operand<Real>(x);
  op->target = Operand<Real>(target);
  op->weights = weights.data;
  op->count = x.shape.count();
  op->delta = delta;
  op->loss = tape.result({1});
  tape.record(op, {&op->x, &op->target},
              {kind, {x.id, target.id, weights.id}, {op->loss.id}, {{"delta", static_cast<double>(delta)}}});
  return op->loss;
}

}  // namespace

template <class Real>
Value<Real> mse(Tape<Real>& tape, Value<Real> x, Value<Real> target, Value<Real> weights) {
  return difference(tape, OpKind::mse, x, target, weights, Real{0});
}

template <class Real>
Value<Real> huber(Tape<Real>& tape, Value<Real> x, Value<Real> target, Value<Real> weights, Real delta) {
  CHECK(delta > 0);
  return difference(tape, OpKind::huber, x, target, weights, delta);
}

template Value<float> mse(Tape<float>&, Value<float>, Value<float>, Value<float>);
template Value<double> mse(Tape<double>&, Value<double>, Value<double>, Value<double>);
template Value<float> huber(Tape<float>&, Value<float>, Value<float>, Value<float>, float);
template Value<double> huber(Tape<double>&, Value<double>, Value<double>, Value<double>, double);

}  // namespace trident::autodiff
