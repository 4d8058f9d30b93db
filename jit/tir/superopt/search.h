// Finds instructions for a specification by a beam search over stacks.
//
// A state is the stack, as values, and the set of finished tasks. A move is an instruction: a task whose values lie on
// top, or one that copies, moves, drops, pushes or adds a constant to a value that is still needed. The estimate of
// the remaining cost counts the tasks, missing copies, surplus values, and values out of
// place. A network (ordering.h), which sees the arrangement of the stack, may choose the states kept of a layer;
// then the heuristic only chooses the candidates it scores.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "jit/tir/superopt/specification.h"
#include "jit/tir/superopt/state.h"

namespace trident::nn {
class AccumulatorWeights;
}

namespace trident::tir::superopt {

/// Weights of a block's cost: rows of the whole program's deciding table, or any other measure that is a sum.
struct Weights {
  double word = 1;       ///< per word of program text
  double cycle = 0;      ///< per run of the block
  double stack_row = 0;  ///< per row of the op-stack table
  bool operator==(const Weights&) const = default;
};
/// Returns the cost of instructions as they stand.
double cost(std::span<const Instruction> block, const Weights& weights);

/// Record of a search, for training.
struct Trace {
  /// Candidates of each number of instructions, the kept ones first, in their order.
  std::vector<std::vector<State>> layers;
  std::vector<State> path;  ///< the result's states between the first one and the end
  float spent = 0;          ///< cost of the result
};

struct SearchOptions {
  Weights weights;
  std::size_t width = 160;  ///< states kept per number of instructions
  std::size_t length_max = 96;
  /// True: the stack must get exactly as low as the block's; false: at most as low. The machine fails below 16
  /// elements, so a block that needs fewer is not the same.
  bool as_low = false;
  /// Called every few milliseconds: true ends a search with the best so far.
  std::function<bool()> stop{};
  /// Network over feature_space() that orders candidates together with the heuristic; null: the heuristic alone. Must
  /// outlive the search.
  const nn::AccumulatorWeights* network = nullptr;
  Trace* trace = nullptr;  ///< written when not null
  [[nodiscard]] bool over() const { return stop && stop(); }
};

/// Returns the cheapest block found below `bound`, or none. Joins instructions on single words again.
std::optional<std::vector<Instruction>> search(const Specification& specification, double bound,
                                               const SearchOptions& options);

}  // namespace trident::tir::superopt
