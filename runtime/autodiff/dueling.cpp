#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"

namespace trident::autodiff {
namespace {

template <class Real>
struct Dueling : Op<Real> {
  Operand<Real> v, a;
  Value<Real> q;
  std::size_t rows, actions;
};

template <class Real>
void forward(Op<Real>& base) {
  auto& op = static_cast<Dueling<Real>&>(base);
  for (std::size_t r = 0; r < op.rows; ++r) {
    const Real* a = op.a.data + r * op.actions;
    Real sum = 0;
    for (std::size_t i = 0; i < op.actions; ++i) sum += a[i];
    const Real shift = op.v.data[r] - sum / static_cast<Real>(op.actions);
    for (std::size_t i = 0; i < op.actions; ++i) op.q.data[r * op.actions + i] = a[i] + shift;
  }
}

template <class Real>
void backward(Op<Real>& base) {
  auto& op = static_cast<Dueling<Real>&>(base);
  for (std::size_t r = 0; r < op.rows; ++r) {
    const Real* d = op.q.gradient + r * op.actions;
    Real sum = 0;
    for (std::size_t i = 0; i < op.actions; ++i) sum += d[i];
    if (op.v.gradient) op.v.gradient[r] = op.v.accumulate ? op.v.gradient[r] + sum : sum;
    if (!op.a.gradient) continue;
    Real* to = op.a.gradient + r * op.actions;
    for (std::size_t i = 0; i < op.actions; ++i) {
      const Real slope = d[i] - sum / static_cast<Real>(op.actions);
      to[i] = op.a.accumulate ? to[i] + slope : slope;
    }
  }
}

}  // namespace

template <class Real>
Value<Real> dueling(Tape<Real>& tape, Value<Real> v, Value<Real> a) {
  CHECK(a.shape.rank() == 2 && v.shape == (Shape{a.shape[0], 1}));
  auto* op = tape.template take<Dueling<Real>>(forward<Real>, backward<Real>);
  op->v = Operand<Real>(v);
  op->a = Operand<Real>(a);
  op->rows = a.shape[0];
  op->actions = a.shape[1];
  op->q = tape.result(a.shape);
  tape.record(op, {&op->v, &op->a}, {OpKind::dueling, {v.id, a.id}, {op->q.id}, {}});
  return op->q;
}

template Value<float> dueling(Tape<float>&, Value<float>, Value<float>);
template Value<double> dueling(Tape<double>&, Value<double>, Value<double>);

}  // namespace trident::autodiff
