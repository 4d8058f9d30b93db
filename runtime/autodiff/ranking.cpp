// Losses that compare: softmax_cross_entropy of classes, pairwise_rank within groups (the logistic loss of RankNet,
// Burges et al. 2005).
#include <algorithm>
#include <cmath>

#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"

namespace trident::autodiff {
namespace {

template <class Real>
struct CrossEntropy : Op<Real> {
  Operand<Real> logits;
  const std::int32_t* labels;
  const Real *class_weights, *row_weights;
  Value<Real> loss;
  Real* shares;
  double weight_sum;
  std::size_t rows, classes;
  [[nodiscard]] Real weight(std::size_t row) const {
    if (labels[row] < 0) return 0;
    const Real of_class = class_weights ? class_weights[labels[row]] : Real{1};
    return row_weights ? of_class * row_weights[row] : of_class;
  }
};

template <class Real>
void entropy_forward(Op<Real>& base) {
  auto& op = static_cast<CrossEntropy<Real>&>(base);
  double sum = 0, weights = 0;
  for (std::size_t r = 0; r < op.rows; ++r) {
    const std::int32_t label = op.labels[r];
    CHECK(label < static_cast<std::int32_t>(op.classes));
    const Real* x = op.logits.data + r * op.classes;
    Real* shares = op.shares + r * op.classes;
    const Real largest = *std::max_element(x, x + op.classes);
    Real total = 0;
    for (std::size_t c = 0; c < op.classes; ++c) total += shares[c] = std::exp(x[c] - largest);
    for (std::size_t c = 0; c < op.classes; ++c) shares[c] /= total;
    if (label < 0) continue;
    weights += static_cast<double>(op.weight(r));
    sum += static_cast<double>(op.weight(r) * (std::log(total) + largest - x[label]));
  }
  op.weight_sum = weights;
  op.loss.data[0] = weights > 0 ? static_cast<Real>(sum / weights) : Real{0};
}

template <class Real>
void entropy_backward(Op<Real>& base) {
  auto& op = static_cast<CrossEntropy<Real>&>(base);
  if (!op.logits.gradient) return;
  const Real scale = op.weight_sum > 0 ? op.loss.gradient[0] / static_cast<Real>(op.weight_sum) : Real{0};
  for (std::size_t r = 0; r < op.rows; ++r) {
    Real* to = op.logits.gradient + r * op.classes;
    const Real weight = op.weight(r) * scale;
    for (std::size_t c = 0; c < op.classes; ++c) {
      const bool hit = static_cast<std::int32_t>(c) == op.labels[r];
      const Real slope = weight * (op.shares[r * op.classes + c] - (hit ? Real{1} : Real{0}));
      to[c] = op.logits.accumulate ? to[c] + slope : slope;
    }
  }
}

template <class Real>
struct PairwiseRank : Op<Real> {
  Operand<Real> scores;
  const Real* target;
  const std::int32_t* groups;
  Value<Real> loss;
  double* slopes;
  std::size_t count, pairs;
};

template <class Real>
void rank_forward(Op<Real>& base) {
  auto& op = static_cast<PairwiseRank<Real>&>(base);
  std::fill_n(op.slopes, op.count, 0.0);
  op.pairs = 0;
  double sum = 0;
  for (std::size_t i = 0; i < op.count; ++i) {
    for (std::size_t j = 0; j < op.count; ++j) {
      if (op.groups[i] != op.groups[j] || !(op.target[i] > op.target[j])) continue;
      const double d = static_cast<double>(op.scores.data[i] - op.scores.data[j]);
      const double tail = std::exp(-std::fabs(d));  // log(1 + exp(-d)) without overflow
      sum += std::log1p(tail) + (d < 0 ? -d : 0);
      const double slope = -(d < 0 ? 1 : tail) / (1 + tail);
      op.slopes[i] += slope;
      op.slopes[j] -= slope;
      ++op.pairs;
    }
  }
  op.loss.data[0] = op.pairs ? static_cast<Real>(sum / static_cast<double>(op.pairs)) : Real{0};
}

template <class Real>
void rank_backward(Op<Real>& base) {
  auto& op = static_cast<PairwiseRank<Real>&>(base);
  if (!op.scores.gradient) return;
  const double scale = op.pairs ? static_cast<double>(op.loss.gradient[0]) / static_cast<double>(op.pairs) : 0;
  for (std::size_t i = 0; i < op.count; ++i) {
    const Real slope = static_cast<Real>(op.slopes[i] * scale);
    op.scores.gradient[i] = op.scores.accumulate ? op.scores.gradient[i] + slope : slope;
  }
}

}  // namespace

template <class Real>
Value<Real> softmax_cross_entropy(Tape<Real>& tape, Value<Real> logits, Integers labels, Value<Real> class_weights,
                                  Value<Real> row_weights) {
  CHECK(labels.shape.count() == logits.shape.rows());
  CHECK(!class_weights.present() || class_weights.shape == Shape{logits.shape[-1]});
  CHECK(!row_weights.present() || row_weights.shape.count() == logits.shape.rows());
  auto* op = tape.template take<CrossEntropy<Real>>(entropy_forward<Real>, entropy_backward<Real>);
  op->logits = Operand<Real>(logits);
  op->labels = labels.data;
  op->class_weights = class_weights.data;
  op->row_weights = row_weights.data;
  op->rows = logits.shape.rows();
  op->classes = logits.shape[-1];
  op->shares = tape.arena().template take<Real>(logits.shape.count());
  op->loss = tape.result({1});
  tape.record(
      op, {&op->logits},
      {OpKind::softmax_cross_entropy, {logits.id, labels.id, class_weights.id, row_weights.id}, {op->loss.id}, {}});
  return op->loss;
}

template <class Real>
Value<Real> pairwise_rank(Tape<Real>& tape, Value<Real> scores, Value<Real> target, Integers groups) {
  CHECK(scores.shape.count() == target.shape.count() && scores.shape.count() == groups.shape.count());
  auto* op = tape.template take<PairwiseRank<Real>>(rank_forward<Real>, rank_backward<Real>);
  op->scores = Operand<Real>(scores);
  op->target = target.data;
  op->groups = groups.data;
  op->count = scores.shape.count();
  op->slopes = tape.arena().template take<double>(op->count);
  op->loss = tape.result({1});
  tape.record(op, {&op->scores}, {OpKind::pairwise_rank, {scores.id, target.id, groups.id}, {op->loss.id}, {}});
  return op->loss;
}

#define INSTANTIATE(Real)                                                                                   \
  template Value<Real> softmax_cross_entropy(Tape<Real>&, Value<Real>, Integers, Value<Real>, Value<Real>); \
  template Value<Real> pairwise_rank(Tape<Real>&, Value<Real>, Value<Real>, Integers);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace trident::autodiff
