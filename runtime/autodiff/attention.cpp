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
  Operand<Real> q, k, v;
  const std::int32_t* mask;
  Value<Real> y;
  Real* shares;                  // softmax [B, heads, Tq, Tk]
  const Scratch<Real>* scratch;  // gradient of one head's scores [Tq, Tk]
  std::size_t samples, queries, keys, channels, heads;
  tensor::Gemm<Real> scores, mix;   // of one head: q k^T, shares v
  tensor::Gemm<Real> share_slopes;  // dy v^T
  tensor::Gemm<Real> v_slopes, k_slopes, q_slopes;
};

/// Softmax in place; masked elements get 0. When all are masked there is no divisor, and the row stays 0.
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
void attention_forward(Op<Real>& base) {
  auto& op = static_cast<Attention<Real>&>(base);
  const std::size_t c = op.channels, width = c / op.heads;
  for (std::size_t s = 0; s < op.samples; ++s) {
    for (std::size_t h = 0; h < op.heads; ++h) {
      const Real *q = op.q.data + s * op.queries * c + h * width, *k = op.k.data + s * op.keys * c + h * width;
      Real* shares = op.shares + (s * op.heads + h) * op.queries * op.keys;
      op.scores(q, k, shares);
      for (std::size_t i = 0; i < op.queries; ++i) {
        masked_softmax(shares + i * op.keys, op.mask ? op.mask + (s * op.queries + i) * op.keys : nullptr, op.keys);
      }
      op.mix(shares, op.v.data + s * op.keys * c + h * width, op.y.data + s * op.queries * c + h * width);
    }
  }
}

template <class Real>
void attention_prepare(Op<Real>& base, tensor::GemmCode<Real>& code) {
  auto& op = static_cast<Attention<Real>&>(base);
  const std::size_t c = op.channels, width = c / op.heads, tq = op.queries, tk = op.keys;
  const Real scale = 1 / std::sqrt(static_cast<Real>(width));
  code.add({.trans_b = true, .m = tq, .n = tk, .k = width, .alpha = scale, .lda = c, .ldb = c, .ldc = tk}, op.scores);
  code.add({.m = tq, .n = width, .k = tk, .lda = tk, .ldb = c, .ldc = c}, op.mix);
  if (op.k.gradient || op.q.gradient) {
    code.add({.trans_b = true, .m = tq, .n = tk, .k = width, .lda = c, .ldb = c, .ldc = tk}, op.share_slopes);
  }
  tensor::GemmShape<Real> of_keys = {
      .trans_a = true, .m = tk, .n = width, .k = tq, .lda = tk, .ldb = c, .beta = op.v.beta(), .ldc = c};
  if (op.v.gradient) code.add(of_keys, op.v_slopes);
  of_keys.alpha = scale;
  of_keys.beta = op.k.beta();
  if (op.k.gradient) code.add(of_keys, op.k_slopes);
  if (op.q.gradient) {
    code.add({.m = tq, .n = width, .k = tk, .alpha = scale, .lda = tk, .ldb = c, .beta = op.q.beta(), .ldc = c},
             op.q_slopes);
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
  op.share_slopes(op.y.gradient + s * op.queries * c + h * width, op.v.data + s * op.keys * c + h * width,
                  op.scratch->data);
  for (std::size_t i = 0; i < op.queries; ++i) {
    Real *d = op.scratch->data + i * op.keys, dot = 0;
    const Real* p = shares + i * op.keys;
    for (std::size_t j = 0; j < op.keys; ++j) dot += d[j] * p[j];
    for (std::size_t j = 0; j < op.keys; ++j) d[j] = p[j] * (d[j] - dot);
  }
}

template <class Real>
void attention_backward(Op<Real>& base) {
  auto& op = static_cast<Attention<Real>&>(base);
  const std::size_t c = op.channels, width = c / op.heads;
  const auto at = [&](const Operand<Real>& o, std::size_t length, std::size_t s, std::size_t h, bool gradient) {
    return (gradient ? o.gradient : o.data) + s * length * c + h * width;
  };
  if (op.v.gradient) {
    for_heads(op, [&](std::size_t s, std::size_t h, const Real* shares) {
      op.v_slopes(shares, op.y.gradient + s * op.queries * c + h * width, at(op.v, op.keys, s, h, true));
    });
  }
  if (op.k.gradient) {
    for_heads(op, [&](std::size_t s, std::size_t h, const Real* shares) {
      score_slopes(op, s, h, shares);
      op.k_slopes(op.scratch->data, at(op.q, op.queries, s, h, false), at(op.k, op.keys, s, h, true));
    });
  }
  if (op.q.gradient) {
    for_heads(op, [&](std::size_t s, std::size_t h, const Real* shares) {
      score_slopes(op, s, h, shares);
      op.q_slopes(op.scratch->data, at(op.k, op.keys, s, h, false), at(op.q, op.queries, s, h, true));
    });
  }
}

}  // namespace

template <class Real>
Value<Real> attention(Tape<Real>& tape, Value<Real> q, Value<Real> k, Value<Real> v, Integers mask, std::size_t heads) {
  CHECK(q.shape.rank() == 3 && k.shape.rank() == 3 && k.shape == v.shape);
  CHECK(q.shape[0] == k.shape[0] && q.shape[2] == k.shape[2] && heads > 0 && q.shape[2] % heads == 0);
  CHECK(!mask.present() || mask.shape == (Shape{q.shape[0], q.shape[1], k.shape[1]}));
  auto* op =
      tape.template take<Attention<Real>>(attention_forward<Real>, attention_backward<Real>, attention_prepare<Real>);
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
