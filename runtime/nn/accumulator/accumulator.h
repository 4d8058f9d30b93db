// An update of the accumulator: rows and node vectors added and removed, collected first, then summed in one pass.
//
//   accumulator = bias + sum over nodes of h(node),   h(node) = sum of the rows of the node's features
//
// All of it is exact: h of at most kRowsMax rows in int16, the accumulator in int32 for any number of nodes that a term
// may have. So what was added can be taken away again, in whatever order, and the accumulator is then what a rebuild
// gives, to the bit.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/nn/accumulator/weights.h"

namespace trident::nn {

using simd::Accumulator;
using simd::NodeVector;

/// Rows and vectors to be added and taken away. Vectors are borrowed.
class Movement {
 public:
  explicit Movement(const AccumulatorWeights& weights) : weights_(&weights) {}

  void clear() {
    plus_.clear(), minus_.clear();
    plus_vectors_.clear(), minus_vectors_.clear();
    plus_sizes_.clear(), minus_sizes_.clear();
    rows_in_vectors_ = 0;
  }
  void add(std::uint32_t feature) {
    plus_.append(*weights_, 1, [&](std::size_t) { return feature; });
  }
  void take(std::uint32_t feature) {
    minus_.append(*weights_, 1, [&](std::size_t) { return feature; });
  }
  /// ... of `count` features, of which number i is feature_of(i).
  template <class FeatureOf>
  void add_all(std::size_t count, const FeatureOf& feature_of) {
    plus_.append(*weights_, count, feature_of);
  }
  template <class FeatureOf>
  void take_all(std::size_t count, const FeatureOf& feature_of) {
    minus_.append(*weights_, count, feature_of);
  }
  /// ... of a vector that is the sum of `rows` rows, at most simd::kRowsMax.
  void add(const NodeVector& vector, std::uint32_t rows) {
    plus_vectors_.push_back(&vector), plus_sizes_.push_back(rows);
    rows_in_vectors_ += rows;
  }
  void take(const NodeVector& vector, std::uint32_t rows) {
    minus_vectors_.push_back(&vector), minus_sizes_.push_back(rows);
    rows_in_vectors_ += rows;
  }

  /// Passes over 256 lanes.
  [[nodiscard]] std::size_t passes() const {
    return plus_.size() + minus_.size() + plus_vectors_.size() + minus_vectors_.size();
  }
  [[nodiscard]] bool empty() const { return rows() == 0; }
  /// Added and taken away together, those that the vectors are sums of included.
  [[nodiscard]] std::size_t rows() const { return plus_.size() + minus_.size() + rows_in_vectors_; }
  /// How many more rows the accumulator is the sum of afterwards.
  [[nodiscard]] std::int64_t rows_gained() const;

  void apply(Accumulator& accumulator) const;
  /// Their sum as a vector; false where a lane is beyond int16, with `out` undefined.
  [[nodiscard]] bool sum(NodeVector& out) const;

 private:
  /// Numbers of rows. Room is made once for many, so that the places of all are looked up at the same time.
  class Rows {
   public:
    void clear() { count_ = 0; }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] const std::uint32_t* data() const { return row_.data(); }
    template <class FeatureOf>
    void append(const AccumulatorWeights& weights, std::size_t count, const FeatureOf& feature_of) {
      if (count_ + count > row_.size()) row_.resize(2 * (count_ + count));
      std::uint32_t* const out = row_.data() + count_;
      for (std::size_t i = 0; i < count; ++i) out[i] = weights.row(feature_of(i));
      for (std::size_t i = 0; i < count; ++i) weights.prefetch(out[i]);
      count_ += count;
    }

   private:
    std::vector<std::uint32_t> row_ = std::vector<std::uint32_t>(2 * simd::kRowsMax);
    std::size_t count_ = 0;
  };
  [[nodiscard]] simd::Terms terms() const;
  void apply_in_parts(Accumulator& accumulator) const;

  const AccumulatorWeights* weights_;
  Rows plus_, minus_;
  std::vector<const NodeVector*> plus_vectors_, minus_vectors_;
  std::vector<std::uint32_t> plus_sizes_, minus_sizes_;
  std::size_t rows_in_vectors_ = 0;
};

}  // namespace trident::nn
