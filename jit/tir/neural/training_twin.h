// The network in floating point, to be trained by gradients on answers: given a block and
// the first tokens of a better one, it learns to write the next.
//
// The twin computes as network.h does, but for rounding and the tables of gelu and e^x, over the same slices; its
// weights rounded to 2^-16 are the network's.
#pragma once

#include <span>
#include <vector>

#include "jit/tir/neural/weights.h"
#include "runtime/autodiff/tape.h"

namespace trident::tir::neural {

/// A block and a better one that does the same.
struct Pair {
  std::vector<Instruction> baseline, better;
};

/// A pair as the network's input: rows of features and masks for each node and for each token of the answer.
struct Lesson {
  std::vector<FeatureRows> nodes, drafts;
  std::array<std::uint32_t, kNodesMax> seen{};
  std::vector<std::uint32_t> looked_at;  ///< nodes, as bits
  std::vector<Token> answer;
};
/// Makes a lesson. Errors: InvalidArgument if either is no block, or the answer has more than kDraftTokensMax tokens.
Result<Lesson> lesson_of(const Pair& pair);

/// Size of one tape: longer lessons do not fit.
struct TwinShape {
  std::size_t lessons = 16, nodes = kNodesMax, tokens = kDraftTokensMax;
  [[nodiscard]] bool fits(const Lesson& lesson) const {
    return lesson.nodes.size() <= nodes && lesson.answer.size() <= tokens;
  }
};

template <class Real>
class TrainingTwin {
 public:
  /// Records the network over `store`, and declares its slices there if needed. `store` must outlive it.
  TrainingTwin(tensor::ParameterStore<Real>& store, const TwinShape& shape);

  /// Puts a lesson that fits into `place` of shape.lessons.
  void load(std::size_t place, const Lesson& lesson);
  /// Starts after load() of the first `count` places: the others are empty.
  void begin(std::size_t count);
  [[nodiscard]] autodiff::Tape<Real>& tape() { return tape_; }
  /// Returns the mean over the answers' tokens of minus the logarithm of the share that the network gives them.
  [[nodiscard]] const autodiff::Value<Real>& loss() const { return loss_; }
  /// Returns the scores, after forward(), of token `token` of the answer in `place`.
  [[nodiscard]] std::span<const Real> scores(std::size_t place, std::size_t token) const;

 private:
  void record();
  void put_rows(autodiff::Bags& bags, std::size_t list, const FeatureRows& rows);

  TwinShape shape_;
  autodiff::Tape<Real> tape_;
  autodiff::Bags node_bags_, draft_bags_;
  autodiff::Integers seen_, looked_at_, answers_;
  autodiff::Value<Real> scores_, loss_;
  std::vector<Lesson> lessons_;
};

/// Copies weights into a store's slices; rounded_weights() reads them back.
template <class Real>
void put_weights(std::span<const std::int32_t> weights, tensor::ParameterStore<Real>& store);
template <class Real>
Weights rounded_weights(const tensor::ParameterStore<Real>& store);

extern template class TrainingTwin<float>;
extern template class TrainingTwin<double>;

}  // namespace trident::tir::neural
