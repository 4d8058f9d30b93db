// The network: an encoder of two layers over the nodes of a block, and a decoder that writes the new block token by
// token. Fixed point throughout; the same weights and blocks give the same bits on every machine, at every
// instruction-set level and with any number of threads.
//
//   encoder   x = sum of a node's feature rows
//             twice: x = norm(x + attention(x)); x = norm(x + gelu(x in) out)
//             two heads; a node sees itself and the nodes it depends on, directly or through others
//   decoder   p = sum of the draft's feature rows; c = the nodes that it looks at, weighed by softmax(p x / 8);
//             o = gelu([c p] hidden) out; the score of token t is o . features[t] + bias[t]
//
// About 69,000 multiply-adds a node and 38,000 a token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/tir/neural/draft.h"
#include "jit/tir/neural/weights.h"
#include "runtime/tensor/kernels.h"

namespace trident::tir::neural {

/// A block after the encoder.
struct Encoded {
  const Original* original = nullptr;
  std::vector<double> nodes;  ///< kWidth numbers a node: fixed-point integers
};

/// Prepared weights and working memory: one object per thread.
class Network {
 public:
  /// `level` must be supported by this machine.
  explicit Network(std::span<const std::int32_t> weights, os::SimdLevel level = tensor::best_level());

  [[nodiscard]] Encoded encode(const Original& original);
  /// A draft and its block, encoded by these weights.
  struct Query {
    const Encoded* encoded;
    const Draft* draft;
  };
  /// Scores of the next token for each query, kTokenCount each, in units of 2^-16.
  void score(std::span<const Query> queries, std::vector<std::int32_t>& scores);

  /// Returns how many activations were cut at +- 128.0 since construction. Sums of products cannot overflow.
  [[nodiscard]] std::uint64_t saturated() const { return saturated_; }
  /// Returns the multiply-adds in matrix products since construction.
  [[nodiscard]] std::uint64_t multiply_adds() const { return multiply_adds_; }

 private:
  struct Layer {
    std::vector<double> projections;  ///< query, key and value side by side
    std::vector<double> output, in, in_bias, out, out_bias;
    std::vector<double> gain1, bias1, gain2, bias2;
  };
  void product(std::size_t m, std::size_t n, std::size_t k, const double* a, const double* b, double* c);
  void sum_features(const FeatureRows& rows, double* out);
  void attend(const Layer& layer, std::size_t nodes, std::span<const std::uint32_t> seen);
  void feed_forward(const Layer& layer, std::size_t nodes, double* x);
  void weigh_nodes(const Encoded& encoded, std::uint32_t looked_at, const double* p, double* context);

  const tensor::Kernels<double>& kernels_;
  const Arithmetic& arithmetic_;
  std::vector<double> features_, tokens_;  ///< tokens_: the first rows of features_, by columns
  std::vector<double> token_bias_, hidden_, hidden_bias_, out_, out_bias_;
  std::vector<Layer> layers_;
  std::vector<double> projected_, shares_, attended_, mixed_, inner_, input_, logits_;
  FeatureRows rows_;
  std::uint64_t saturated_ = 0, multiply_adds_ = 0;
};

}  // namespace trident::tir::neural
