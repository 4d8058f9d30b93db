// Multi-head attention (Vaswani et al. 2017) for one sample and head at a time: heads are strips of the channels, so a
// head's q, k and v are matrices with leading dimension C and nothing is transposed.
#include <cmath>
#include <limits>

#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"

namespace trident::autodiff {
namespace {

template <class Real>
struct Attention : Op<Real> {
  const tensor::Kernels<Real>* kernels;
  Operand<Real> q, k, v;
  const std::int32_t* mask;
  Value<Real> y;
  Real* shares;                  // softmax [B, heads, Tq, Tk]
  const Scratch<Real>* scratch;  // gradient of one head's scores [Tq, Tk]
  std::size_t samples, queries, keys, channels, heads;
};

/// In place; what the mask hides gets 0. Returns nothing to divide by where all is hidden: the row stays 0.
template <class Real>
void masked_softmax(Real* row, const std::int32_t* mask, std::size_t count) {
  Real largest = -std::numeric_limits<Real>::infinity();
  for (std::size_t i = 0; i < count; ++i) {
    if (!mask || mask[i]) largest = std::max(largest, row[i]);
  }
  Real sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    row[i] = !mask || mask[i] ? std::exp(row[i] - largest) : Real{0};
    sum += row[i];
  }
  for (std::size_t i = 0; i < count && sum > 0; ++i) row[i] /= sum;
}

template <class Real>
void forward(Op<Real>& base) {
  auto& op = static_cast<Attention<Real>&>(base);
  const std::size_t c = op.channels, width = c / op.heads;
  const Real scale = 1 / std::sqrt(static_cast<Real>(width));
  for (std::size_t s = 0; s < op.samples; ++s) {
    for (std::size_t h = 0; h < op.heads; ++h) {
      const Real *q = op.q.data + s * op.queries * c + h * width, *k = op.k.data + s * op.keys * c + h * width;
      Real* shares = op.shares + (s * op.heads + h) * op.queries * op.keys;
      op.kernels->gemm(false, true, op.queries, op.keys, width, scale, q, c, k, c, 0, shares, op.keys);
      for (std::size_t i = 0; i < op.queries; ++i) {
        masked_softmax(shares + i * op.keys, op.mask ? op.mask + (s * op.queries + i) * op.keys : nullptr, op.keys);
      }
      op.kernels->gemm(false, false, op.queries, width, op.keys, 1, shares, op.keys,
                       op.v.data + s * op.keys * c + h * width, c, 0, op.y.data + s * op.queries * c + h * width, c);
    }
  }
}

/// All heads of one operand, so that an operand that stands in for two (self-attention) is written once by each.
template <class Real, class F>
void for_heads(Attention<Real>& op, F f) {
  for (std::size_t s = 0; s < op.samples; ++s) {
    for (std::size_t h = 0; h < op.heads; ++h) f(s, h, op.shares + (s * op.heads + h) * op.queries * op.keys);
  }
}

/// The gradient of one head's scores, in op.scratch.
template <class Real>
void score_slopes(Attention<Real>& op, std::size_t s, std::size_t h, const Real* shares) {
  const std::size_t c = op.channels, width = c / op.heads;
  op.kernels->gemm(false, true, op.queries, op.keys, width, 1, op.y.gradient + s * op.queries * c + h * width, c,
                   op.v.data + s * op.keys * c + h * width, c, 0, op.scratch->data, op.keys);
  for (std::size_t i = 0; i < op.queries; ++i) {
    Real *d = op.scratch->data + i * op.keys, dot = 0;
    const Real* p = shares + i * op.keys;
    for (std::size_t j = 0; j < op.keys; ++j) dot += d[j] * p[j];
    for (std::size_t j = 0; j < op.keys; ++j) d[j] = p[j] * (d[j] - dot);
  }
}

template <class Real>
void backward(Op<Real>& base) {
  auto& op = static_cast<Attention<Real>&>(base);
  const std::size_t c = op.channels, width = c / op.heads;
  const Real scale = 1 / std::sqrt(static_cast<Real>(width));
  const auto at = [&](const Operand<Real>& o, std::size_t length, std::size_t s, std::size_t h, bool gradient) {
    return (gradient ? o.gradient : o.data) + s * length * c + h * width;
  };
  if (op.v.gradient) {
    for_heads(op, [&](std::size_t s, std::size_t h, const Real* shares) {
      op.kernels->gemm(true, false, op.keys, width, op.queries, 1, shares, op.keys,
                       op.y.gradient + s * op.queries * c + h * width, c, op.v.beta(), at(op.v, op.keys, s, h, true),
                       c);
    });
  }
  if (op.k.gradient) {
    for_heads(op, [&](std::size_t s, std::size_t h, const Real* shares) {
      score_slopes(op, s, h, shares);
      op.kernels->gemm(true, false, op.keys, width, op.queries, scale, op.scratch->data, op.keys,
                       at(op.q, op.queries, s, h, false), c, op.k.beta(), at(op.k, op.keys, s, h, true), c);
    });
  }
  if (op.q.gradient) {
    for_heads(op, [&](std::size_t s, std::size_t h, const Real* shares) {
      score_slopes(op, s, h, shares);
      op.kernels->gemm(false, false, op.queries, width, op.keys, scale, op.scratch->data, op.keys,
                       at(op.k, op.keys, s, h, false), c, op.q.beta(), at(op.q, op.queries, s, h, true), c);
    });
  }
}

}  // namespace

template <class Real>
Value<Real> attention(Tape<Real>& tape, Value<Real> q, Value<Real> k, Value<Real> v, Integers mask, std::size_t heads) {
  CHECK(q.shape.rank() == 3 && k.shape.rank() == 3 && k.shape == v.shape);
  CHECK(q.shape[0] == k.shape[0] && q.shape[2] == k.shape[2] && heads > 0 && q.shape[2] % heads == 0);
  CHECK(!mask.present() || mask.shape == (Shape{q.shape[0], q.shape[1], k.shape[1]}));
  auto* op = tape.arena().template take<Attention<Real>>();
  op->forward = forward<Real>;
  op->backward = backward<Real>;
  op->kernels = &tape.kernels();
  op->q = Operand<Real>(q);
  op->k = Operand<Real>(k);
  op->v = Operand<Real>(v);
  op->mask = mask.data;
  op->samples = q.shape[0];
  op->queries = q.shape[1];
  op->keys = k.shape[1];
  op->channels = q.shape[2];
  op->heads = heads;
  op->y = tape.result(q.shape);
  op->shares = tape.arena().template take<Real>(op->samples * heads * op->queries * op->keys);
  op->scratch = tape.scratch(op->queries * op->keys);
  tape.record(op, {&op->v, &op->k, &op->q},
              {OpKind::attention, {q.id, k.id, v.id, mask.id}, {op->y.id}, {{"heads", static_cast<double>(heads)}}});
  return op->y;
}

template Value<float> attention(Tape<float>&, Value<float>, Value<float>, Value<float>, Integers, std::size_t);
template Value<double> attention(Tape<double>&, Value<double>, Value<double>, Value<double>, Integers, std::size_t);

}  // namespace trident::autodiff
