// Guides of searches by name, so that a user can choose one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "jit/egraph/guide.h"
#include "jit/nnue/network_guide.h"
#include "runtime/base/result.h"
#include "runtime/nn/accumulator/weights.h"

namespace trident::expr::rewrite {

/// X(name, "meaning").
#define TRIDENT_GUIDES(X)                                                \
  X(network, "the trained network")                                      \
  X(cost, "what a rule takes off the cost of the ops that it names")     \
  X(constant, "all matches alike, in the order in which they are found") \
  X(random, "any order")                                                 \
  X(hostile, "what the cost promises least of first")
#define X(name, meaning) name,
enum class GuideKind : std::uint8_t { TRIDENT_GUIDES(X) };
#undef X

/// A guide with all that it needs; for one search at a time, any number in sequence.
class AnyGuide {
 public:
  /// `weights`: a file for the network; empty: those that come with the program. Errors: those of
  /// nn::AccumulatorWeights::map() and view(), the file's name first.
  static Result<AnyGuide> make(GuideKind kind, const std::string& weights = {});
  /// `borrowed` must outlive it; of kinds but the network unused.
  static AnyGuide make(GuideKind kind, const nn::AccumulatorWeights& borrowed);
  [[nodiscard]] egraph::Guide& operator*() const { return *guide_; }
  [[nodiscard]] egraph::Guide* get() const { return guide_.get(); }

 private:
  std::unique_ptr<nn::AccumulatorWeights> weights_;
  std::unique_ptr<egraph::Guide> guide_;
};

/// Returns weights for the built-in kinds of nodes that lie in memory: see nn::AccumulatorWeights::view().
/// RejectedRecord also where the guide's head was never trained, as in a judge's weights (it would rank all rewrites
/// alike), and where the bytes after them, to the end, are not a judge's weights.
Result<nn::AccumulatorWeights> guide_weights(std::span<const std::byte> block);
/// Returns the weights of a file, or the shipped ones.
Result<nn::AccumulatorWeights> guide_weights(const std::string& path);
/// Returns weights, whichever head was trained, if any.
Result<nn::AccumulatorWeights> any_weights(const std::string& path);
/// Does as guide_weights(), for the head that predicts times. Nothing may follow them.
Result<nn::AccumulatorWeights> judge_weights(std::span<const std::byte> block);
/// Returns whether the head was trained.
bool is_guide(const nn::AccumulatorWeights& weights);
bool is_judge(const nn::AccumulatorWeights& weights);

}  // namespace trident::expr::rewrite
