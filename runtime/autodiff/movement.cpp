// Ops that move values and compute nothing: concat, slice, reshape, gather_action, max_pool_time.
#include <algorithm>
#include <cstring>

#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"

namespace trident::autodiff {
namespace {

template <class Real>
struct Concat : Op<Real> {
  std::span<Operand<Real>> parts;
  std::span<std::size_t> widths;
  Value<Real> y;
  std::size_t rows, width;
};

template <class Real>
void concat_forward(Op<Real>& base) {
  auto& op = static_cast<Concat<Real>&>(base);
  std::size_t at = 0;
  for (std::size_t p = 0; p < op.parts.size(); at += op.widths[p++]) {
    for (std::size_t r = 0; r < op.rows; ++r) {
      std::memcpy(op.y.data + r * op.width + at, op.parts[p].data + r * op.widths[p], op.widths[p] * sizeof(Real));
    }
  }
}

template <class Real>
void concat_backward(Op<Real>& base) {
  auto& op = static_cast<Concat<Real>&>(base);
  std::size_t at = 0;
  for (std::size_t p = 0; p < op.parts.size(); at += op.widths[p++]) {
    const Operand<Real>& part = op.parts[p];
    if (!part.gradient) continue;
    for (std::size_t r = 0; r < op.rows; ++r) {
      const Real* from = op.y.gradient + r * op.width + at;
      Real* to = part.gradient + r * op.widths[p];
      if (part.accumulate)
        op.kernels->add(op.widths[p], to, from, to);
      else
        std::memcpy(to, from, op.widths[p] * sizeof(Real));
    }
  }
}

template <class Real>
struct Slice : Op<Real> {
  Operand<Real> x;
  Value<Real> y;
  std::size_t rows, width, from, count;
};

template <class Real>
void slice_forward(Op<Real>& base) {
  auto& op = static_cast<Slice<Real>&>(base);
  for (std::size_t r = 0; r < op.rows; ++r) {
    std::memcpy(op.y.data + r * op.count, op.x.data + r * op.width + op.from, op.count * sizeof(Real));
  }
}

template <class Real>
void slice_backward(Op<Real>& base) {
  auto& op = static_cast<Slice<Real>&>(base);
  if (!op.x.gradient) return;
  op.x.clear_unless_accumulated(op.rows * op.width);
  for (std::size_t r = 0; r < op.rows; ++r) {
    Real* to = op.x.gradient + r * op.width + op.from;
    op.kernels->add(op.count, to, op.y.gradient + r * op.count, to);
  }
}

template <class Real>
struct Gather : Op<Real> {
  Operand<Real> q;
  const std::int32_t* actions;
  Value<Real> y;
  std::size_t rows, width;
};

template <class Real>
void gather_forward(Op<Real>& base) {
  auto& op = static_cast<Gather<Real>&>(base);
  for (std::size_t r = 0; r < op.rows; ++r) {
    CHECK(static_cast<std::uint32_t>(op.actions[r]) < op.width);
    op.y.data[r] = op.q.data[r * op.width + static_cast<std::size_t>(op.actions[r])];
  }
}

template <class Real>
void gather_backward(Op<Real>& base) {
  auto& op = static_cast<Gather<Real>&>(base);
  if (!op.q.gradient) return;
  op.q.clear_unless_accumulated(op.rows * op.width);
  for (std::size_t r = 0; r < op.rows; ++r) {
    op.q.gradient[r * op.width + static_cast<std::size_t>(op.actions[r])] += op.y.gradient[r];
  }
}

template <class Real>
struct MaxPool : Op<Real> {
  Operand<Real> x;
  const std::int32_t* lengths;
  Value<Real> y;
  std::int32_t* winners;  // position of each largest value
  std::size_t samples, length, channels;
};

template <class Real>
void pool_forward(Op<Real>& base) {
  auto& op = static_cast<MaxPool<Real>&>(base);
  for (std::size_t s = 0; s < op.samples; ++s) {
    const std::size_t length = op.lengths ? static_cast<std::size_t>(op.lengths[s]) : op.length;
    CHECK(length >= 1 && length <= op.length);
    Real* y = op.y.data + s * op.channels;
    std::int32_t* winners = op.winners + s * op.channels;
    const Real* x = op.x.data + s * op.length * op.channels;
    std::memcpy(y, x, op.channels * sizeof(Real));
    std::fill_n(winners, op.channels, 0);
    for (std::size_t t = 1; t < length; ++t) {
      const Real* at = x + t * op.channels;
      for (std::size_t c = 0; c < op.channels; ++c) {
        winners[c] = at[c] > y[c] ? static_cast<std::int32_t>(t) : winners[c];
        y[c] = at[c] > y[c] ? at[c] : y[c];
      }
    }
  }
}

template <class Real>
void pool_backward(Op<Real>& base) {
  auto& op = static_cast<MaxPool<Real>&>(base);
  if (!op.x.gradient) return;
  op.x.clear_unless_accumulated(op.samples * op.length * op.channels);
  for (std::size_t s = 0; s < op.samples; ++s) {
    for (std::size_t c = 0; c < op.channels; ++c) {
      const std::size_t at = s * op.channels + c;
      op.x.gradient[(s * op.length + static_cast<std::size_t>(op.winners[at])) * op.channels + c] += op.y.gradient[at];
    }
  }
}

}  // namespace

template <class Real>
Value<Real> concat(Tape<Real>& tape, std::span<const Value<Real>> parts) {
  CHECK(!parts.empty());
  auto* op = tape.template take<Concat<Real>>(concat_forward<Real>, concat_backward<Real>);
  op->parts = tape.arena().template take_span<Operand<Real>>(parts.size());
  op->widths = tape.arena().template take_span<std::size_t>(parts.size());
  op->rows = parts[0].shape.rows();
  std::vector<Operand<Real>*> operands;
  OpRecord record{OpKind::concat, {}, {}, {}};
  for (std::size_t p = 0; p < parts.size(); ++p) {
    CHECK(parts[p].shape.with_last(1) == parts[0].shape.with_last(1));
    op->parts[p] = Operand<Real>(parts[p]);
    op->widths[p] = parts[p].shape[-1];
    op->width += op->widths[p];
    operands.push_back(&op->parts[p]);
    record.inputs.push_back(parts[p].id);
  }
  op->y = tape.result(parts[0].shape.with_last(op->width));
  record.outputs.push_back(op->y.id);
  tape.record(op, operands, std::move(record));
  return op->y;
}

template <class Real>
Value<Real> slice(Tape<Real>& tape, Value<Real> x, std::size_t from, std::size_t to) {
  CHECK(from < to && to <= x.shape[-1]);
  auto* op = tape.template take<Slice<Real>>(slice_forward<Real>, slice_backward<Real>);
  op->x = Operand<Real>(x);
  op->rows = x.shape.rows();
  op->width = x.shape[-1];
  op->from = from;
  op->count = to - from;
  op->y = tape.result(x.shape.with_last(op->count));
  tape.record(
      op, {&op->x},
      {OpKind::slice, {x.id}, {op->y.id}, {{"from", static_cast<double>(from)}, {"to", static_cast<double>(to)}}});
  return op->y;
}

template <class Real>
Value<Real> reshape(Tape<Real>& tape, Value<Real> x, Shape shape) {
  const Value<Real> y = tape.alias(x, shape);
  tape.record(nullptr, {}, {OpKind::reshape, {x.id}, {y.id}, {}});
  return y;
}

template <class Real>
Value<Real> gather_action(Tape<Real>& tape, Value<Real> q, Integers actions) {
  CHECK(q.shape.rank() == 2 && actions.shape == Shape{q.shape[0]});
  auto* op = tape.template take<Gather<Real>>(gather_forward<Real>, gather_backward<Real>);
  op->q = Operand<Real>(q);
  op->actions = actions.data;
  op->rows = q.shape[0];
  op->width = q.shape[1];
  op->y = tape.result({op->rows, 1});
  tape.record(op, {&op->q}, {OpKind::gather_action, {q.id, actions.id}, {op->y.id}, {}});
  return op->y;
}

template <class Real>
Value<Real> max_pool_time(Tape<Real>& tape, Value<Real> x, Integers lengths) {
  CHECK(x.shape.rank() == 3 && x.shape[1] > 0 && (!lengths.present() || lengths.shape == Shape{x.shape[0]}));
  auto* op = tape.template take<MaxPool<Real>>(pool_forward<Real>, pool_backward<Real>);
  op->x = Operand<Real>(x);
  op->lengths = lengths.data;
  op->samples = x.shape[0];
  op->length = x.shape[1];
  op->channels = x.shape[2];
  op->y = tape.result({op->samples, op->channels});
  op->winners = tape.arena().template take<std::int32_t>(op->samples * op->channels);
  tape.record(op, {&op->x}, {OpKind::max_pool_time, {x.id, lengths.id}, {op->y.id}, {}});
  return op->y;
}

#define INSTANTIATE(Real)                                                         \
  template Value<Real> concat(Tape<Real>&, std::span<const Value<Real>>);         \
  template Value<Real> slice(Tape<Real>&, Value<Real>, std::size_t, std::size_t); \
  template Value<Real> reshape(Tape<Real>&, Value<Real>, Shape);                  \
  template Value<Real> gather_action(Tape<Real>&, Value<Real>, Integers);         \
  template Value<Real> max_pool_time(Tape<Real>&, Value<Real>, Integers);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace trident::autodiff
