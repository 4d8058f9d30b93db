#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"

namespace trident::autodiff {
namespace {

template <class Real>
struct Linear : Op<Real> {
  const tensor::Kernels<Real>* kernels;
  Operand<Real> x, w, b;
  Value<Real> y;
  Real* before;  // what the activation saw; only gelu's slope needs it
  std::size_t rows, in, out;
  Activation activation;
};

template <class Real>
void forward(Op<Real>& base) {
  auto& op = static_cast<Linear<Real>&>(base);
  op.kernels->gemm(false, false, op.rows, op.out, op.in, 1, op.x.data, op.in, op.w.data, op.out, 0, op.y.data, op.out);
  op.kernels->bias_activate(op.rows, op.out, op.b.data, op.activation, op.before, op.y.data);
}

template <class Real>
void backward(Op<Real>& base) {
  auto& op = static_cast<Linear<Real>&>(base);
  Real* d = op.y.gradient;  // of y, then of what the activation saw
  op.kernels->activation_backward(op.rows * op.out, op.activation, op.before, op.y.data, d, d);
  if (op.x.gradient) {
    op.kernels->gemm(false, true, op.rows, op.in, op.out, 1, d, op.out, op.w.data, op.out, op.x.beta(), op.x.gradient,
                     op.in);
  }
  if (op.w.gradient) {
    op.kernels->gemm(true, false, op.in, op.out, op.rows, 1, op.x.data, op.in, d, op.out, op.w.beta(), op.w.gradient,
                     op.out);
  }
  if (op.b.gradient) op.kernels->column_sums(op.rows, op.out, d, op.b.accumulate, op.b.gradient);
}

}  // namespace

template <class Real>
Value<Real> linear(Tape<Real>& tape, Value<Real> x, Value<Real> w, Value<Real> b, Activation activation) {
  CHECK(w.shape.rank() == 2 && x.shape[-1] == w.shape[0] && (!b.present() || b.shape == Shape{w.shape[1]}));
  auto* op = tape.arena().template take<Linear<Real>>();
  op->forward = forward<Real>;
  op->backward = backward<Real>;
  op->kernels = &tape.kernels();
  op->x = Operand<Real>(x);
  op->w = Operand<Real>(w);
  op->b = Operand<Real>(b);
  op->rows = x.shape.rows();
  op->in = w.shape[0];
  op->out = w.shape[1];
  op->activation = activation;
  op->y = tape.result(x.shape.with_last(op->out));
  op->before = activation == Activation::gelu && tape.mode() == Mode::train
                   ? tape.arena().template take<Real>(op->rows * op->out)
                   : nullptr;
  tape.record(op, {&op->x, &op->w, &op->b},
              {OpKind::linear, {x.id, w.id, b.id}, {op->y.id}, {{"activation", static_cast<double>(activation)}}});
  return op->y;
}

template Value<float> linear(Tape<float>&, Value<float>, Value<float>, Value<float>, Activation);
template Value<double> linear(Tape<double>&, Value<double>, Value<double>, Value<double>, Activation);

}  // namespace trident::autodiff
