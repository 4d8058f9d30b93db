// The ops of a tape, each with its gradient. Shapes: B samples, T positions, C channels; "rows" are all extents but the
// last. Recording with shapes that do not fit is a bug (CHECK). Gradients flow into every operand that has one.
#pragma once

#include "runtime/autodiff/tape.h"

namespace trident::autodiff {

/// activation(x w + b): x [.., in], w [in, out], b [out] or absent; gives [.., out].
template <class Real>
Value<Real> linear(Tape<Real>&, Value<Real> x, Value<Real> w, Value<Real> b, Activation activation);

/// activation(sum of the table's rows of each list + b): gives [bags.count(), width]. An empty list sums to zero. The
/// table's gradient is in tape.row_gradients(). Ids outside the table end the process.
template <class Real>
Value<Real> sparse_bag(Tape<Real>&, tensor::RowTable<Real>& table, Bags bags, Value<Real> b, Activation activation);

/// activation(convolution + b) along T with zeros beyond the ends: x [B, T, in], w [K, in, out], K odd; gives [B, T,
/// out].
template <class Real>
Value<Real> conv1d(Tape<Real>&, Value<Real> x, Value<Real> w, Value<Real> b, Activation activation);

/// Each row to mean 0 and variance 1, times gain [C] plus bias [C].
template <class Real>
Value<Real> layer_norm(Tape<Real>&, Value<Real> x, Value<Real> gain, Value<Real> bias, Real epsilon = Real(1e-5));

/// Each channel over all rows to mean 0 and variance 1, times gain plus bias. In Mode::train with the batch's moments;
/// backward leaves (running - moment) as the gradient of the slices running_mean and running_variance (kind statistic),
/// which the optimiser turns into a moving average. In Mode::infer with the running ones. The moving variance is the
/// unbiased one, as PyTorch's.
template <class Real>
Value<Real> batch_norm(Tape<Real>&, Value<Real> x, Value<Real> gain, Value<Real> bias, Value<Real> running_mean,
                       Value<Real> running_variance, Real epsilon = Real(1e-5));

template <class Real>
Value<Real> activate(Tape<Real>&, Value<Real> x, Activation activation);

/// Largest of each channel over the first lengths[b] positions (at least 1), or over all T where `lengths` is absent:
/// x [B, T, C] gives [B, C]. Of equal values the first has the gradient.
template <class Real>
Value<Real> max_pool_time(Tape<Real>&, Value<Real> x, Integers lengths);

/// softmax(q k^T / sqrt(C / heads)) v for each head: q [B, Tq, C], k and v [B, Tk, C]; gives [B, Tq, C]. mask [B, Tq,
/// Tk], or absent: where it is 0, a query does not see a key; a query that sees none gives zeros.
template <class Real>
Value<Real> attention(Tape<Real>&, Value<Real> q, Value<Real> k, Value<Real> v, Integers mask, std::size_t heads);

/// a + b and a * b; b may be shorter: it repeats ([C] or [T, C] under [B, T, C]).
template <class Real>
Value<Real> add(Tape<Real>&, Value<Real> a, Value<Real> b);
template <class Real>
Value<Real> multiply(Tape<Real>&, Value<Real> a, Value<Real> b);

/// Along the last dimension.
template <class Real>
Value<Real> concat(Tape<Real>&, std::span<const Value<Real>> parts);
/// Elements [from, to) of the last dimension.
template <class Real>
Value<Real> slice(Tape<Real>&, Value<Real> x, std::size_t from, std::size_t to);
template <class Real>
Value<Real> reshape(Tape<Real>&, Value<Real> x, Shape shape);

/// Q = V + A - mean(A): v [B, 1], a [B, A] (Wang et al. 2016, equation 9).
template <class Real>
Value<Real> dueling(Tape<Real>&, Value<Real> v, Value<Real> a);
/// q [B, A], actions [B] within [0, A): gives [B, 1].
template <class Real>
Value<Real> gather_action(Tape<Real>&, Value<Real> q, Integers actions);

/// Weighted mean of -log softmax(logits)[label]: logits [.., C], labels one per row; a negative label is masked out.
/// class_weights [C] or absent, row_weights one per row or absent: a row weighs their product; divided by the sum of
/// the weights of the rows that are not masked (0 where all are).
template <class Real>
Value<Real> softmax_cross_entropy(Tape<Real>&, Value<Real> logits, Integers labels, Value<Real> class_weights,
                                  Value<Real> row_weights = {});
/// Mean of weights (x - target)^2; weights (of x's shape) or absent: ones.
template <class Real>
Value<Real> mse(Tape<Real>&, Value<Real> x, Value<Real> target, Value<Real> weights = {});
/// Mean of weights h(x - target), h(d) = d^2 / 2 within +- delta, delta (|d| - delta / 2) beyond.
template <class Real>
Value<Real> huber(Tape<Real>&, Value<Real> x, Value<Real> target, Value<Real> weights = {}, Real delta = Real(1));
/// Mean over pairs of one group with target[i] > target[j] of log(1 + exp(scores[j] - scores[i])); 0 without pairs.
/// scores, target and groups have as many elements; equal numbers in `groups` are one group.
template <class Real>
Value<Real> pairwise_rank(Tape<Real>&, Value<Real> scores, Value<Real> target, Integers groups);

}  // namespace trident::autodiff
