// Convolution along time as one matrix product. Each sample's positions stand in a copy with a halo of zeros,
//
//   halo: [0 x0 x1 .. xT-1 0 | 0 x0 x1 .. ]      K = 3: one zero on each side of every sample
//
// so that the K inputs of output p are the K * in consecutive numbers from row p: a matrix of overlapping rows with
// leading dimension `in`, never built. Outputs that reach from one sample into the next are computed and dropped, and
// their gradient is zero.
#include <cstring>

#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"

namespace trident::autodiff {
namespace {

template <class Real>
struct Conv1d : Op<Real> {
  Operand<Real> x, w, b;
  Value<Real> y;
  Real* halo;  // [B, T + K - 1, in]
  Real* before;
  const Scratch<Real>* scratch;
  std::size_t samples, length, taps, in, out;
  Activation activation;
  tensor::Gemm<Real> product, w_product, tap_product;  // wide outputs, dw, and one tap's part of the halo's gradient
  [[nodiscard]] std::size_t padded() const { return length + taps - 1; }
  /// [B, T + K - 1, out]: outputs, or their gradients, with those to drop.
  [[nodiscard]] Real* wide() const { return scratch->data; }
  /// Like `halo`.
  [[nodiscard]] Real* halo_gradient() const { return wide() + samples * padded() * out; }
  /// Rows of `wide` that have all their inputs.
  [[nodiscard]] std::size_t wide_rows() const { return samples * padded() - (taps - 1); }
};

template <class Real>
void conv_forward(Op<Real>& base) {
  auto& op = static_cast<Conv1d<Real>&>(base);
  const std::size_t half = op.taps / 2;
  for (std::size_t s = 0; s < op.samples; ++s) {
    std::memcpy(op.halo + (s * op.padded() + half) * op.in, op.x.data + s * op.length * op.in,
                op.length * op.in * sizeof(Real));
  }
  op.product(op.halo, op.w.data, op.wide());
  for (std::size_t s = 0; s < op.samples; ++s) {
    std::memcpy(op.y.data + s * op.length * op.out, op.wide() + s * op.padded() * op.out,
                op.length * op.out * sizeof(Real));
  }
  op.kernels->bias_activate(op.samples * op.length, op.out, op.b.data, op.activation, op.before, op.y.data);
}

template <class Real>
void conv_prepare(Op<Real>& base, tensor::GemmCode<Real>& code) {
  auto& op = static_cast<Conv1d<Real>&>(base);
  const std::size_t rows = op.wide_rows(), deep = op.taps * op.in;
  code.add({.m = rows, .n = op.out, .k = deep, .lda = op.in, .ldb = op.out, .ldc = op.out}, op.product);
  if (op.w.gradient) {
    code.add({.trans_a = true,
              .m = deep,
              .n = op.out,
              .k = rows,
              .lda = op.in,
              .ldb = op.out,
              .beta = op.w.beta(),
              .ldc = op.out},
             op.w_product);
  }
  if (op.x.gradient) {
    code.add(
        {.trans_b = true, .m = rows, .n = op.in, .k = op.out, .lda = op.out, .ldb = op.out, .beta = 1, .ldc = op.in},
        op.tap_product);
  }
}

template <class Real>
void conv_backward(Op<Real>& base) {
  auto& op = static_cast<Conv1d<Real>&>(base);
  Real* d = op.y.gradient;
  const std::size_t rows = op.samples * op.length;
  op.kernels->activation_backward(rows * op.out, op.activation, op.before, op.y.data, d, d);
  if (op.b.gradient) op.kernels->column_sums(rows, op.out, d, op.b.accumulate, op.b.gradient);
  for (std::size_t s = 0; s < op.samples; ++s) {
    Real* to = op.wide() + s * op.padded() * op.out;
    std::memcpy(to, d + s * op.length * op.out, op.length * op.out * sizeof(Real));
    std::memset(to + op.length * op.out, 0, (op.taps - 1) * op.out * sizeof(Real));
  }
  if (op.w.gradient) op.w_product(op.halo, op.wide(), op.w.gradient);
  if (!op.x.gradient) return;
  std::memset(op.halo_gradient(), 0, op.samples * op.padded() * op.in * sizeof(Real));
  for (std::size_t tap = 0; tap < op.taps; ++tap) {
    op.tap_product(op.wide(), op.w.data + tap * op.in * op.out, op.halo_gradient() + tap * op.in);
  }
  for (std::size_t s = 0; s < op.samples; ++s) {
    const Real* from = op.halo_gradient() + (s * op.padded() + op.taps / 2) * op.in;
    Real* to = op.x.gradient + s * op.length * op.in;
    if (op.x.accumulate)
      op.kernels->add(op.length * op.in, to, from, to);
    else
      std::memcpy(to, from, op.length * op.in * sizeof(Real));
  }
}

}  // namespace

template <class Real>
Value<Real> conv1d(Tape<Real>& tape, Value<Real> x, Value<Real> w, Value<Real> b, Activation activation) {
  CHECK(x.shape.rank() == 3 && w.shape.rank() == 3 && w.shape[1] == x.shape[2] && w.shape[0] % 2 == 1);
  CHECK(!b.present() || b.shape == Shape{w.shape[2]});
  auto* op = tape.template take<Conv1d<Real>>(conv_forward<Real>, conv_backward<Real>, conv_prepare<Real>);
  op->x = Operand<Real>(x);
  op->w = Operand<Real>(w);
  op->b = Operand<Real>(b);
  op->samples = x.shape[0];
  op->length = x.shape[1];
  op->in = x.shape[2];
  op->taps = w.shape[0];
  op->out = w.shape[2];
  op->activation = activation;
  op->y = tape.result({op->samples, op->length, op->out});
  op->halo = tape.arena().template take<Real>(op->samples * op->padded() * op->in);
  op->scratch = tape.scratch(op->samples * op->padded() * (op->out + (x.gradient ? op->in : 0)));
  op->before = tape.activation_inputs(activation, op->samples * op->length * op->out);
  tape.record(op, {&op->b, &op->w, &op->x},
              {OpKind::conv1d, {x.id, w.id, b.id}, {op->y.id}, {{"activation", static_cast<double>(activation)}}});
  return op->y;
}

template Value<float> conv1d(Tape<float>&, Value<float>, Value<float>, Value<float>, Activation);
template Value<double> conv1d(Tape<double>&, Value<double>, Value<double>, Value<double>, Activation);

}  // namespace trident::autodiff
