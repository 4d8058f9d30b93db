#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"

namespace trident::autodiff {
namespace {

template <class Real>
struct Linear : Op<Real> {
  Operand<Real> x, w, b;
  Value<Real> y;
  Real* before;  // what the activation saw; only gelu's slope needs it
  std::size_t rows, in, out;
  Activation activation;
  tensor::Gemm<Real> product, x_product, w_product;  // y, dx, dw
};

template <class Real>
void linear_forward(Op<Real>& base) {
  auto& op = static_cast<Linear<Real>&>(base);
  op.product(op.x.data, op.w.data, op.y.data, op.b.data);
  if (op.activation == Activation::gelu) {
    op.kernels->bias_activate(op.rows, op.out, op.b.data, op.activation, op.before, op.y.data);
  }
}

/// Returns the epilogue of the product. Gelu gets none: bias_activate() applies it in a pass of its own.
tensor::Epilogue epilogue_of(Activation activation, bool bias) {
  using tensor::Epilogue;
  switch (activation) {
    case Activation::none: return bias ? Epilogue::bias : Epilogue::none;
    case Activation::relu: return bias ? Epilogue::bias_relu : Epilogue::relu;
    case Activation::clipped_relu: return bias ? Epilogue::bias_clipped_relu : Epilogue::clipped_relu;
    case Activation::gelu: return Epilogue::none;
  }
  return Epilogue::none;
}

template <class Real>
void linear_prepare(Op<Real>& base, tensor::GemmCode<Real>& code) {
  auto& op = static_cast<Linear<Real>&>(base);
  using Product = tensor::GemmShape<Real>;
  const tensor::Epilogue epilogue = epilogue_of(op.activation, op.b.data != nullptr);
  code.add(Product{.m = op.rows, .n = op.out, .k = op.in, .epilogue = epilogue}.dense(), op.product);
  if (op.x.gradient) {
    code.add(Product{.trans_b = true, .m = op.rows, .n = op.in, .k = op.out, .beta = op.x.beta()}.dense(),
             op.x_product);
  }
  if (op.w.gradient) {
    code.add(Product{.trans_a = true, .m = op.in, .n = op.out, .k = op.rows, .beta = op.w.beta()}.dense(),
             op.w_product);
  }
}

template <class Real>
void linear_backward(Op<Real>& base) {
  auto& op = static_cast<Linear<Real>&>(base);
  Real* d = op.y.gradient;  // of y, then of the activation's input
  op.kernels->activation_backward(op.rows * op.out, op.activation, op.before, op.y.data, d, d);
  if (op.x.gradient) op.x_product(d, op.w.data, op.x.gradient);
  if (op.w.gradient) op.w_product(op.x.data, d, op.w.gradient);
  if (op.b.gradient) op.kernels->column_sums(op.rows, op.out, d, op.b.accumulate, op.b.gradient);
}

}  // namespace

template <class Real>
Value<Real> linear(Tape<Real>& tape, Value<Real> x, Value<Real> w, Value<Real> b, Activation activation) {
  CHECK(w.shape.rank() == 2 && x.shape[-1] == w.shape[0] && (!b.present() || b.shape == Shape{w.shape[1]}));
  auto* op = tape.template take<Linear<Real>>(linear_forward<Real>, linear_backward<Real>, linear_prepare<Real>);
  op->x = Operand<Real>(x);
  op->w = Operand<Real>(w);
  op->b = Operand<Real>(b);
  op->rows = x.shape.rows();
  op->in = w.shape[0];
  op->out = w.shape[1];
  op->activation = activation;
  op->y = tape.result(x.shape.with_last(op->out));
  op->before = tape.activation_inputs(activation, op->rows * op->out);
  tape.record(op, {&op->x, &op->w, &op->b},
              {OpKind::linear, {x.id, w.id, b.id}, {op->y.id}, {{"activation", static_cast<double>(activation)}}});
  return op->y;
}

template Value<float> linear(Tape<float>&, Value<float>, Value<float>, Value<float>, Activation);
template Value<double> linear(Tape<double>&, Value<double>, Value<double>, Value<double>, Activation);

}  // namespace trident::autodiff
