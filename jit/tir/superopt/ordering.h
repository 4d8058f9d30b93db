// A network's say in which states of a search come first.
//
//   estimate = spent + left + cost of a move * what the network says        (left: the heuristic of search.h)
//
// The accumulator (runtime/nn/accumulator: int8 rows, int32 sums) of a state that is kept is its parent's with the rows
// of the places in which the two differ; a candidate is scored from its parent's by the same difference, without an
// accumulator of its own. Nothing but the order of candidates depends on it.
#pragma once

#include <vector>

#include "jit/tir/superopt/features.h"
#include "runtime/nn/accumulator/accumulator.h"

namespace trident::tir::superopt {

class Ordering {
 public:
  /// All must outlive it; the weights are of feature_space().
  Ordering(const nn::AccumulatorWeights& network, const Specification& specification, const Weights& weights);

  /// The state that a search begins with: number 0 of those kept.
  void begin(const State& first);
  /// Adds what the network says to their estimates. Their parents are those kept since the last end_layer().
  void score(std::span<State> candidates);
  /// ... will be looked at as a parent, after the next end_layer(). Numbers of kept states follow each other.
  void keep(const State& state);
  void end_layer();

  /// Of number `kept`, which is a parent now.
  [[nodiscard]] const nn::Accumulator& accumulator(std::uint32_t kept) const { return parents_[kept - first_].sum; }
  /// ... built anew from all its places.
  [[nodiscard]] nn::Accumulator rebuilt(const State& state);

 private:
  struct Parent {
    nn::Accumulator sum;
    Places places;
  };
  void difference(const Places& from, const Places& to);

  const nn::AccumulatorWeights& network_;
  Onlooker onlooker_;
  double unit_;  ///< what one of the network's integers is in cost
  nn::Movement movement_;
  Seen seen_;
  std::vector<Parent> parents_, kept_;
  std::uint32_t first_ = 0;  ///< number of parents_[0]
};

}  // namespace trident::tir::superopt
