#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"

namespace trident::autodiff {
namespace {

template <class Real>
struct SparseBag : Op<Real> {
  tensor::RowTable<Real>* table;
  Bags bags;
  Operand<Real> b;
  Value<Real> y;
  Real* before;
  std::size_t rows, width;
  Activation activation;
};

template <class Real>
void bag_forward(Op<Real>& base) {
  auto& op = static_cast<SparseBag<Real>&>(base);
  for_lists(op.bags, op.table->rows(), [&](std::size_t r, const std::int32_t* ids, std::size_t count) {
    op.kernels->sum_rows(op.width, op.table->base(), op.table->row_stride(), ids, count, op.y.data + r * op.width);
  });
  op.kernels->bias_activate(op.rows, op.width, op.b.data, op.activation, op.before, op.y.data);
}

template <class Real>
void bag_backward(Op<Real>& base) {
  auto& op = static_cast<SparseBag<Real>&>(base);
  Real* d = op.y.gradient;  // stays behind as the gradient of the rows
  op.kernels->activation_backward(op.rows * op.width, op.activation, op.before, op.y.data, d, d);
  if (op.b.gradient) op.kernels->column_sums(op.rows, op.width, d, op.b.accumulate, op.b.gradient);
}

}  // namespace

template <class Real>
Value<Real> sparse_bag(Tape<Real>& tape, tensor::RowTable<Real>& table, Bags bags, Value<Real> b,
                       Activation activation) {
  CHECK(!b.present() || b.shape == Shape{table.width()});
  auto* op = tape.template take<SparseBag<Real>>(bag_forward<Real>, bag_backward<Real>);
  op->table = &table;
  op->bags = bags;
  op->b = Operand<Real>(b);
  op->rows = bags.count();
  op->width = table.width();
  op->activation = activation;
  op->y = tape.result({op->rows, op->width});
  op->before = tape.activation_inputs(activation, op->rows * op->width);
  tape.record(op, {&op->b},
              {OpKind::sparse_bag,
               {tape.rows_value(table), bags.ids.id, bags.offsets.id, b.id},
               {op->y.id},
               {{"activation", static_cast<double>(activation)}}});
  if (tape.mode() == Mode::train) {
    tape.add_row_gradient({&table, bags.ids.data, bags.offsets.data, op->rows, op->y.gradient, bags.ids.shape.count()});
  }
  return op->y;
}

template Value<float> sparse_bag(Tape<float>&, tensor::RowTable<float>&, Bags, Value<float>, Activation);
template Value<double> sparse_bag(Tape<double>&, tensor::RowTable<double>&, Bags, Value<double>, Activation);

}  // namespace trident::autodiff
