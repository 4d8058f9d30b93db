#include "jit/tir/neural/training_twin.h"

#include <algorithm>
#include <string>

#include "jit/tir/neural/table_ops.h"
#include "runtime/autodiff/ops.h"

namespace trident::tir::neural {
namespace {

using autodiff::Activation;
using autodiff::Integers;
using autodiff::Mode;
using autodiff::Tape;
using autodiff::Value;

/// Bound of the rows of a node or draft: the context's 32 and a node's 14, or a draft's 60.
constexpr std::size_t kRowsMax = 64;

template <class Real>
void declare_slices(tensor::ParameterStore<Real>& store) {
  for (const SliceRow& slice : kSlices) {
    const bool vector = slice.rows == 1;
    const tensor::Shape shape = vector ? tensor::Shape{slice.columns} : tensor::Shape{slice.rows, slice.columns};
    store.declare(slice.name, shape, vector ? tensor::SliceKind::bias : tensor::SliceKind::weight,
                  tensor::Initialiser::zeros);
  }
}

}  // namespace

Result<Lesson> lesson_of(const Pair& pair) {
  TRY(const Original original, Original::of(pair.baseline));
  for (const Instruction& i : pair.better)
    if (!tasm::legal_argument(tasm::row(i.op).argument, i.argument))
      return make_error(ErrorCode::kInvalidArgument, "%s has an argument out of range", tasm::row(i.op).text.data());
  Lesson lesson;
  FeatureRows context;
  original.append_context_rows(context);
  for (std::size_t k = 0; k < original.nodes(); ++k) {
    lesson.nodes.push_back(context);
    original.append_node_rows(k, lesson.nodes.back());
  }
  lesson.seen = original.encoding().ancestors();
  lesson.answer = tokens_of(pair.better, original.pool());
  Draft draft(original);
  for (const Token token : lesson.answer) {
    if (!draft.legal(token))
      return make_error(ErrorCode::kInvalidArgument, "the answer is not a block of at most %zu tokens",
                        kDraftTokensMax);
    lesson.drafts.emplace_back();
    lesson.looked_at.push_back(draft.append_rows(lesson.drafts.back()));
    draft.take(token);
  }
  return lesson;
}

template <class Real>
TrainingTwin<Real>::TrainingTwin(tensor::ParameterStore<Real>& store, const TwinShape& shape)
    : shape_(shape), tape_((declare_slices(store), store), Mode::train), lessons_(shape.lessons) {
  record();
}

template <class Real>
void TrainingTwin<Real>::record() {
  const std::size_t lessons = shape_.lessons, nodes = shape_.nodes, tokens = shape_.tokens;
  const auto slice = [&](const std::string& name) { return tape_.parameter(name); };
  const auto layer_norm = [&](Value<Real> x, const std::string& name) {
    return autodiff::layer_norm(tape_, x, slice(name + ".gain"), slice(name + ".bias"));
  };
  node_bags_ = tape_.bags("nodes", lessons * nodes, lessons * nodes * kRowsMax);
  draft_bags_ = tape_.bags("drafts", lessons * tokens, lessons * tokens * kRowsMax);
  seen_ = tape_.integers("seen", {lessons, nodes, nodes});
  looked_at_ = tape_.integers("looked_at", {lessons, tokens, nodes});
  answers_ = tape_.integers("answers", {lessons * tokens});
  const auto features = slice("features");
  auto x = autodiff::reshape(tape_, sum_table_rows(tape_, features, node_bags_), {lessons, nodes, kWidth});
  for (std::size_t l = 0; l < kLayers; ++l) {
    const std::string name = "layer" + std::to_string(l);
    const auto project = [&](const char* which, Value<Real> from) {
      return autodiff::linear(tape_, from, slice(name + which), {}, Activation::none);
    };
    const auto attended =
        autodiff::attention(tape_, project(".query", x), project(".key", x), project(".value", x), seen_, kHeads);
    x = layer_norm(autodiff::add(tape_, x, project(".output", attended)), name + ".norm1");
    const auto inner =
        autodiff::linear(tape_, x, slice(name + ".in.weight"), slice(name + ".in.bias"), Activation::gelu);
    const auto out =
        autodiff::linear(tape_, inner, slice(name + ".out.weight"), slice(name + ".out.bias"), Activation::none);
    x = layer_norm(autodiff::add(tape_, x, out), name + ".norm2");
  }
  const auto drafts = autodiff::reshape(tape_, sum_table_rows(tape_, features, draft_bags_), {lessons, tokens, kWidth});
  const Value<Real> input[] = {autodiff::attention(tape_, drafts, x, x, looked_at_, 1), drafts};
  const auto hidden = autodiff::linear(tape_, autodiff::concat<Real>(tape_, input), slice("decoder.hidden.weight"),
                                       slice("decoder.hidden.bias"), Activation::gelu);
  const auto out =
      autodiff::linear(tape_, hidden, slice("decoder.out.weight"), slice("decoder.out.bias"), Activation::none);
  scores_ = compare_with_rows(tape_, autodiff::reshape(tape_, out, {lessons * tokens, kWidth}), features, kTokenCount,
                              slice("tokens.bias"));
  loss_ = autodiff::softmax_cross_entropy(tape_, scores_, answers_, {});
  tape_.finish(loss_);
}

template <class Real>
void TrainingTwin<Real>::load(std::size_t place, const Lesson& lesson) {
  CHECK(place < shape_.lessons && shape_.fits(lesson));
  lessons_[place] = lesson;
}

template <class Real>
void TrainingTwin<Real>::put_rows(autodiff::Bags& bags, std::size_t list, const FeatureRows& rows) {
  CHECK(rows.size() <= kRowsMax);
  std::int32_t* offsets = bags.offsets.data;
  std::copy(rows.begin(), rows.end(), bags.ids.data + offsets[list]);
  offsets[list + 1] = offsets[list] + static_cast<std::int32_t>(rows.size());
}

template <class Real>
void TrainingTwin<Real>::begin(std::size_t count) {
  const std::size_t nodes = shape_.nodes, tokens = shape_.tokens;
  std::fill_n(seen_.data, seen_.shape.count(), 0);
  std::fill_n(looked_at_.data, looked_at_.shape.count(), 0);
  std::fill_n(answers_.data, answers_.shape.count(), -1);
  const FeatureRows none;
  node_bags_.offsets.data[0] = draft_bags_.offsets.data[0] = 0;
  for (std::size_t i = 0; i < shape_.lessons; ++i) {
    const Lesson empty, &lesson = i < count ? lessons_[i] : empty;
    for (std::size_t k = 0; k < nodes; ++k) {
      put_rows(node_bags_, i * nodes + k, k < lesson.nodes.size() ? lesson.nodes[k] : none);
      for (std::size_t j = 0; j < nodes && k < lesson.nodes.size(); ++j)
        seen_.data[(i * nodes + k) * nodes + j] = static_cast<std::int32_t>(lesson.seen[k] >> j & 1);
    }
    for (std::size_t t = 0; t < tokens; ++t) {
      const bool there = t < lesson.answer.size();
      put_rows(draft_bags_, i * tokens + t, there ? lesson.drafts[t] : none);
      for (std::size_t j = 0; j < nodes && there; ++j)
        looked_at_.data[(i * tokens + t) * nodes + j] = static_cast<std::int32_t>(lesson.looked_at[t] >> j & 1);
      if (there) answers_.data[i * tokens + t] = lesson.answer[t];
    }
  }
}

template <class Real>
std::span<const Real> TrainingTwin<Real>::scores(std::size_t place, std::size_t token) const {
  return {scores_.data + (place * shape_.tokens + token) * kTokenCount, kTokenCount};
}

template <class Real>
void put_weights(std::span<const std::int32_t> weights, tensor::ParameterStore<Real>& store) {
  declare_slices(store);
  for (const SliceRow& slice : kSlices) {
    const auto from = values_of(weights, slice.name);
    const auto to = store.values(*store.find(slice.name));
    CHECK(from.size() == to.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<Real>(real_of(from[i]));
  }
}

template <class Real>
Weights rounded_weights(const tensor::ParameterStore<Real>& store) {
  Weights weights;
  weights.reserve(kParameterCount);
  for (const SliceRow& slice : kSlices)
    for (const Real w : store.values(*store.find(slice.name))) weights.push_back(weight_of(static_cast<double>(w)));
  return weights;
}

template class TrainingTwin<float>;
template class TrainingTwin<double>;
template void put_weights(std::span<const std::int32_t>, tensor::ParameterStore<float>&);
template void put_weights(std::span<const std::int32_t>, tensor::ParameterStore<double>&);
template Weights rounded_weights(const tensor::ParameterStore<float>&);
template Weights rounded_weights(const tensor::ParameterStore<double>&);

}  // namespace trident::tir::neural
