// Decides whether two straight-line blocks of TASM are the same.
//
// They are if from every state of the machine (at least `stack_min` elements on the stack, with any values; any RAM;
// any public and secret input; a sponge or none) either both fail, or both end with the same stack, RAM, output, sponge
// and positions in the inputs, and both or neither by `halt`. The kind of failure, its place and the output written
// before it do not matter: a run that fails proves nothing.
//
//   baseline, candidate --> many states at once (screen.h)     a difference: differs, and the state that shows it
//                       --> normal forms (symbolic.h)          the same: equal
//                       --> more states on the machine, first those where a value that a block tests for 0 is 0
//                                                              a difference: differs; else unknown
//
// `equal` is certain up to error_bound: the probability, over the random points that were drawn, that normal forms
// were wrongly taken to be the same; 0 when they are the same polynomials. Blocks called equal are run on the
// machine once more. A state in which the machine shows the difference backs every `differs`.
#pragma once

#include <functional>
#include <string>

#include "jit/tir/equiv/screen.h"

namespace trident::tir::equiv {

struct Options {
  std::uint64_t seed = 1;  ///< seeds the states; the points of the normal forms follow from it and both blocks
  /// Least number of stack elements. With 16, blocks that need different depths differ: the machine fails when the
  /// stack would fall below 16.
  std::size_t stack_min = 16;
  /// Numbers of states run after the normal forms: `rerun` if those are the same, `searched` if not.
  unsigned rerun = 24, searched = 300;
  /// Called before each searched state with how many of how many have been run; false ends the search.
  std::function<bool(unsigned done, unsigned total)> goes_on{};
};

enum class Answer : std::uint8_t { equal, differs, unknown };

struct Decision {
  Answer answer = Answer::unknown;
  double error_bound = 0;  ///< for equal
  std::string reason;      ///< for unknown, why; for differs, what is different
  State witness;           ///< for differs: a state that shows it
};

/// Result of comparing the normal forms alone: equal, or a reason why that is not known.
struct Proof {
  bool equal = false;
  double error_bound = 0;
  std::string reason;
};
Proof prove(Block baseline, Block candidate, const Options& options = {});

/// Decides about many candidates of one baseline, which must outlive it.
class Decider {
 public:
  explicit Decider(Block baseline, const Options& options = {});
  Decision decide(Block candidate);
  [[nodiscard]] Screen& screen() { return screen_; }

 private:
  Block baseline_;
  Options options_;
  Screen screen_;
};

Decision decide(Block baseline, Block candidate, const Options& options = {});

}  // namespace trident::tir::equiv
