// Orders the states of a search by a network.
//
//   estimate = spent + left + cost of a move * network's score              (left: the heuristic of search.h)
//
// The accumulator (runtime/nn/accumulator: int8 rows, int32 sums) of a kept state is its parent's, updated by the rows
// of the places in which the two differ; a candidate is scored from its parent's by the same difference, without an
// accumulator of its own. It affects the order of candidates only.
#pragma once

#include <vector>

#include "jit/tir/superopt/features.h"
#include "runtime/nn/accumulator/accumulator.h"

namespace trident::tir::superopt {

class Ordering {
 public:
  /// All arguments must outlive this object; the weights are of feature_space().
  Ordering(const nn::AccumulatorWeights& network, const Specification& specification, const Weights& weights);

  /// Starts with the first state of a search, number 0 of those kept.
  void begin(const State& first);
  /// Adds the network's scores to their estimates. Their parents are those kept since the last end_layer().
  void score(std::span<State> candidates);
  /// Keeps a state as a parent after the next end_layer(). Numbers of kept states follow each other.
  void keep(const State& state);
  void end_layer();

  /// Returns the accumulator of number `kept`, which is a parent now.
  [[nodiscard]] const nn::Accumulator& accumulator(std::uint32_t kept) const { return parents_[kept - first_].sum; }
  /// Returns a state's accumulator, built anew from all its places.
  [[nodiscard]] nn::Accumulator rebuilt(const State& state);

 private:
  struct Parent {
    nn::Accumulator sum;
    Places places;
  };
  void difference(const Places& from, const Places& to);

  const nn::AccumulatorWeights& network_;
  Onlooker onlooker_;
  double unit_;  ///< cost of one unit of the network's integers
  nn::Movement movement_;
  Seen seen_;
  std::vector<Parent> parents_, kept_;
  std::uint32_t first_ = 0;  ///< number of the state of parents_[0]
};

}  // namespace trident::tir::superopt
