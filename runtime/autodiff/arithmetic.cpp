// activate, add, multiply: element by element, the second operand repeating where it is shorter.
#include <cstring>

#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"

namespace trident::autodiff {
namespace {

template <class Real>
struct Activate : Op<Real> {
  Operand<Real> x;
  Value<Real> y;
  const Scratch<Real>* slopes;  // where they must be added to what is there
  Activation activation;
  std::size_t count;
};

template <class Real>
void activate_forward(Op<Real>& base) {
  auto& op = static_cast<Activate<Real>&>(base);
  std::memcpy(op.y.data, op.x.data, op.count * sizeof(Real));
  op.kernels->bias_activate(1, op.count, nullptr, op.activation, nullptr, op.y.data);
}

template <class Real>
void activate_backward(Op<Real>& base) {
  auto& op = static_cast<Activate<Real>&>(base);
  if (!op.x.gradient) return;
  Real* to = op.x.accumulate ? op.slopes->data : op.x.gradient;
  op.kernels->activation_backward(op.count, op.activation, op.x.data, op.y.data, op.y.gradient, to);
  if (op.x.accumulate) op.kernels->add(op.count, op.x.gradient, op.slopes->data, op.x.gradient);
}

template <class Real>
struct Binary : Op<Real> {
  Operand<Real> a, b;
  Value<Real> y;
  std::size_t count, period;  // of a, of b
};

/// `kernel`: the member of tensor::Kernels that takes one period.
template <class Real, auto kernel>
void binary_forward(Op<Real>& base) {
  auto& op = static_cast<Binary<Real>&>(base);
  for (std::size_t i = 0; i < op.count; i += op.period) {
    (op.kernels->*kernel)(op.period, op.a.data + i, op.b.data, op.y.data + i);
  }
}

template <class Real>
void add_backward(Op<Real>& base) {
  auto& op = static_cast<Binary<Real>&>(base);
  const Real* d = op.y.gradient;
  if (op.a.gradient) {
    if (op.a.accumulate)
      op.kernels->add(op.count, op.a.gradient, d, op.a.gradient);
    else
      std::memcpy(op.a.gradient, d, op.count * sizeof(Real));
  }
  if (op.b.gradient) op.kernels->column_sums(op.count / op.period, op.period, d, op.b.accumulate, op.b.gradient);
}

template <class Real>
void multiply_backward(Op<Real>& base) {
  auto& op = static_cast<Binary<Real>&>(base);
  const Real* d = op.y.gradient;
  for (const bool of_a : {true, false}) {
    const Operand<Real>& operand = of_a ? op.a : op.b;
    if (!operand.gradient) continue;
    operand.clear_unless_accumulated(of_a ? op.count : op.period);
    for (std::size_t i = 0; i < op.count; i += op.period) {
      op.kernels->multiply_add(op.period, d + i, of_a ? op.b.data : op.a.data + i, operand.gradient + (of_a ? i : 0));
    }
  }
}

template <class Real>
Value<Real> binary(Tape<Real>& tape, OpKind kind, Value<Real> a, Value<Real> b, void (*forward)(Op<Real>&),
                   void (*backward)(Op<Real>&)) {
  CHECK(b.shape.count() > 0 && a.shape.count() % b.shape.count() == 0 && b.shape.rank() <= a.shape.rank());
  for (int i = -1; i >= -static_cast<int>(b.shape.rank()); --i) CHECK(a.shape[i] == b.shape[i]);
  auto* op = tape.template take<Binary<Real>>(forward, backward);
  op->a = Operand<Real>(a);
  op->b = Operand<Real>(b);
  op->count = a.shape.count();
  op->period = b.shape.count();
  op->y = tape.result(a.shape);
  tape.record(op, {&op->a, &op->b}, {kind, {a.id, b.id}, {op->y.id}, {}});
  return op->y;
}

}  // namespace

template <class Real>
Value<Real> activate(Tape<Real>& tape, Value<Real> x, Activation activation) {
  auto* op = tape.template take<Activate<Real>>(activate_forward<Real>, activate_backward<Real>);
  op->x = Operand<Real>(x);
  op->activation = activation;
  op->count = x.shape.count();
  op->y = tape.result(x.shape);
  op->slopes = tape.scratch(op->count);
  tape.record(op, {&op->x}, {OpKind::activate, {x.id}, {op->y.id}, {{"activation", static_cast<double>(activation)}}});
  return op->y;
}

template <class Real>
Value<Real> add(Tape<Real>& tape, Value<Real> a, Value<Real> b) {
  return binary(tape, OpKind::add, a, b, binary_forward<Real, &tensor::Kernels<Real>::add>, add_backward<Real>);
}

template <class Real>
Value<Real> multiply(Tape<Real>& tape, Value<Real> a, Value<Real> b) {
  return binary(tape, OpKind::multiply, a, b, binary_forward<Real, &tensor::Kernels<Real>::multiply>,
                multiply_backward<Real>);
}

#define INSTANTIATE(Real)                                              \
  template Value<Real> activate(Tape<Real>&, Value<Real>, Activation); \
  template Value<Real> add(Tape<Real>&, Value<Real>, Value<Real>);     \
  template Value<Real> multiply(Tape<Real>&, Value<Real>, Value<Real>);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace trident::autodiff
