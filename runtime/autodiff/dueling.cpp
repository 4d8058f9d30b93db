#include <numeric>

#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"

namespace trident::autodiff {
namespace {

template <class Real>
struct Dueling : Op<Real> {
  Operand<Real> v, a;
  Value<Real> q;
  std::size_t rows, actions;
  [[nodiscard]] Real row_sum(const Real* row) const { return std::accumulate(row, row + actions, Real{0}); }
};

template <class Real>
void dueling_forward(Op<Real>& base) {
  auto& op = static_cast<Dueling<Real>&>(base);
  for (std::size_t r = 0; r < op.rows; ++r) {
    const Real* a = op.a.data + r * op.actions;
    const Real shift = op.v.data[r] - op.row_sum(a) / static_cast<Real>(op.actions);
    for (std::size_t i = 0; i < op.actions; ++i) op.q.data[r * op.actions + i] = a[i] + shift;
  }
}

template <class Real>
void dueling_backward(Op<Real>& base) {
  auto& op = static_cast<Dueling<Real>&>(base);
  for (std::size_t r = 0; r < op.rows; ++r) {
    const Real* d = op.q.gradient + r * op.actions;
    const Real sum = op.row_sum(d);
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
  auto* op = tape.template take<Dueling<Real>>(dueling_forward<Real>, dueling_backward<Real>);
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
