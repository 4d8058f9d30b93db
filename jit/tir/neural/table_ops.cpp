#include "jit/tir/neural/table_ops.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace trident::tir::neural {
namespace {

using autodiff::Bags;
using autodiff::Operand;
using autodiff::OpKind;
using autodiff::Tape;
using autodiff::Value;

template <class Real>
struct SumRows : autodiff::Op<Real> {
  Operand<Real> table;
  Bags bags;
  Value<Real> y;
  std::size_t lists, rows, width;
};

template <class Real>
void forward_sum(autodiff::Op<Real>& base) {
  auto& op = static_cast<SumRows<Real>&>(base);
  for_lists(op.bags, op.rows, [&](std::size_t l, const std::int32_t* ids, std::size_t count) {
    op.kernels->sum_rows(op.width, op.table.data, op.width, ids, count, op.y.data + l * op.width);
  });
}

template <class Real>
void backward_sum(autodiff::Op<Real>& base) {
  auto& op = static_cast<SumRows<Real>&>(base);
  if (!op.table.gradient) return;
  op.table.clear_unless_accumulated(op.rows * op.width);
  const std::int32_t *ids = op.bags.ids.data, *offsets = op.bags.offsets.data;
  for (std::size_t l = 0; l < op.lists; ++l)
    for (std::int32_t i = offsets[l]; i < offsets[l + 1]; ++i)
      op.kernels->axpy(op.width, Real{1}, op.y.gradient + l * op.width,
                       op.table.gradient + static_cast<std::size_t>(ids[i]) * op.width);
}

template <class Real>
struct Compare : autodiff::Op<Real> {
  Operand<Real> x, table, bias;
  Value<Real> y;
  std::size_t count, rows, table_rows, width;
  tensor::Gemm<Real> product, x_product, table_product;  // y, dx, dtable
};

template <class Real>
void forward_compare(autodiff::Op<Real>& base) {
  auto& op = static_cast<Compare<Real>&>(base);
  op.product(op.x.data, op.table.data, op.y.data, op.bias.data);
}

template <class Real>
void prepare_compare(autodiff::Op<Real>& base, tensor::GemmCode<Real>& code) {
  auto& op = static_cast<Compare<Real>&>(base);
  using Product = tensor::GemmShape<Real>;
  constexpr tensor::Epilogue kBias = tensor::Epilogue::bias;
  code.add(Product{.trans_b = true, .m = op.count, .n = op.rows, .k = op.width, .epilogue = kBias}.dense(), op.product);
  if (op.x.gradient)
    code.add(Product{.m = op.count, .n = op.width, .k = op.rows, .beta = op.x.beta()}.dense(), op.x_product);
  if (op.table.gradient) {
    code.add(Product{.trans_a = true, .m = op.rows, .n = op.width, .k = op.count, .beta = op.table.beta()}.dense(),
             op.table_product);
  }
}

template <class Real>
void backward_compare(autodiff::Op<Real>& base) {
  auto& op = static_cast<Compare<Real>&>(base);
  const Real* d = op.y.gradient;
  if (op.x.gradient) op.x_product(d, op.table.data, op.x.gradient);
  if (op.table.gradient) {
    op.table_product(d, op.x.data, op.table.gradient);
    if (!op.table.accumulate)
      std::fill_n(op.table.gradient + op.rows * op.width, (op.table_rows - op.rows) * op.width, Real{0});
  }
  if (op.bias.gradient) op.kernels->column_sums(op.count, op.rows, d, op.bias.accumulate, op.bias.gradient);
}

}  // namespace

template <class Real>
Value<Real> sum_table_rows(Tape<Real>& tape, Value<Real> table, Bags bags) {
  CHECK(table.shape.rank() == 2);
  auto* op = tape.template take<SumRows<Real>>(forward_sum<Real>, backward_sum<Real>);
  op->table = Operand<Real>(table);
  op->bags = bags;
  op->lists = bags.count();
  op->rows = table.shape[0];
  op->width = table.shape[1];
  op->y = tape.result({op->lists, op->width});
  tape.record(op, {&op->table}, {OpKind::sparse_bag, {table.id, bags.ids.id, bags.offsets.id}, {op->y.id}, {}});
  return op->y;
}

template <class Real>
Value<Real> compare_with_rows(Tape<Real>& tape, Value<Real> x, Value<Real> table, std::size_t rows, Value<Real> bias) {
  CHECK(table.shape.rank() == 2 && x.shape[-1] == table.shape[1] && rows <= table.shape[0]);
  CHECK(bias.shape.count() == rows);
  auto* op = tape.template take<Compare<Real>>(forward_compare<Real>, backward_compare<Real>, prepare_compare<Real>);
  op->x = Operand<Real>(x);
  op->table = Operand<Real>(table);
  op->bias = Operand<Real>(bias);
  op->count = x.shape.rows();
  op->rows = rows;
  op->table_rows = table.shape[0];
  op->width = table.shape[1];
  op->y = tape.result(x.shape.with_last(rows));
  tape.record(op, {&op->x, &op->table, &op->bias}, {OpKind::linear, {x.id, table.id, bias.id}, {op->y.id}, {}});
  return op->y;
}

template Value<float> sum_table_rows(Tape<float>&, Value<float>, Bags);
template Value<double> sum_table_rows(Tape<double>&, Value<double>, Bags);
template Value<float> compare_with_rows(Tape<float>&, Value<float>, Value<float>, std::size_t, Value<float>);
template Value<double> compare_with_rows(Tape<double>&, Value<double>, Value<double>, std::size_t, Value<double>);

}  // namespace trident::tir::neural
