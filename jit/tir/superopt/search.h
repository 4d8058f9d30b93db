// From a specification back to instructions: a beam search over stacks.
//
// A state is the stack, as values, and which tasks are done. A move is an instruction: a task whose values lie on top,
// or one that copies, moves, drops, pushes or adds a constant to a value that somebody still needs. The estimate of
// what is left counts the tasks, the copies that are missing, the values that are too many, and those that are out of
// place. Which states are kept of a layer may also be said by a network (ordering.h), which looks at the arrangement of
// the stack; then the heuristic only says which ones it looks at.
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

/// What a block costs: rows of the whole program's deciding table, or any other measure that is a sum.
struct Weights {
  double word = 1;       ///< of program text
  double cycle = 0;      ///< each time the block runs
  double stack_row = 0;  ///< of the op-stack table
  bool operator==(const Weights&) const = default;
};
/// Of instructions as they stand.
double cost(std::span<const Instruction> block, const Weights& weights);

/// What a search did, for teaching.
struct Trace {
  /// The candidates of each number of instructions, those that were kept first, in their order.
  std::vector<std::vector<State>> layers;
  std::vector<State> path;  ///< between the first state and the end, of what was found
  float spent = 0;          ///< by what was found
};

struct SearchOptions {
  Weights weights;
  std::size_t width = 160;  ///< states kept of those with as many instructions
  std::size_t length_max = 96;
  /// Whether the stack must get as low as that of the block does, else no less low: the machine fails below 16
  /// elements, so that a block which needs fewer is another one.
  bool as_low = false;
  /// Asked every few milliseconds: true ends a search with what it has.
  std::function<bool()> stop{};
  /// Of feature_space(): orders candidates together with the heuristic, which alone does it where this is null. Must
  /// outlive the search.
  const nn::AccumulatorWeights* network = nullptr;
  Trace* trace = nullptr;  ///< written when not null
  [[nodiscard]] bool over() const { return stop && stop(); }
};

/// The cheapest block found below `bound`; none if there is none. Single words are together again.
std::optional<std::vector<Instruction>> search(const Specification& specification, double bound,
                                               const SearchOptions& options);

}  // namespace trident::tir::superopt
