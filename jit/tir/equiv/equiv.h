// Are two straight-line blocks of TASM the same?
//
// They are if from every state of the machine (at least `stack_min` elements on the stack, whatever they are; any RAM;
// any public and secret input; a sponge or none) either both fail, or both end with the same stack, RAM, output, sponge
// and positions in the inputs, and both or neither by `halt`. Which failure it is, where it happens and what was
// written before it does not matter: a run that fails proves nothing.
//
//   baseline, candidate --> many states at once (screen.h)     a difference: differs, and the state that shows it
//                       --> normal forms (symbolic.h)          the same: equal
//                       --> more states on the machine, first those where a value that a block asks for being 0 is 0
//                                                              a difference: differs; else unknown
//
// `equal` is certain as far as error_bound: the probability, over the random points that were drawn, that normal forms
// were wrongly taken to be the same; 0 when they are the same polynomials. Whatever is called equal is run on the
// machine once more. `differs` has always been seen on the machine.
#pragma once

#include <functional>
#include <string>

#include "jit/tir/equiv/screen.h"

namespace trident::tir::equiv {

struct Options {
  std::uint64_t seed = 1;  ///< of the states; the points of the normal forms follow from it and from both blocks
  /// Elements that are known to be on the stack. With 16 blocks that need another depth are not the same: the machine
  /// fails when the stack would fall below 16.
  std::size_t stack_min = 16;
  /// States on the machine after the normal forms, if they are the same and if they are not.
  unsigned rerun = 24, searched = 300;
  /// Asked before each of the searched states, with how many have been run of how many; false: no more of them are.
  std::function<bool(unsigned done, unsigned total)> goes_on{};
};

enum class Answer : std::uint8_t { equal, differs, unknown };

struct Decision {
  Answer answer = Answer::unknown;
  double error_bound = 0;  ///< of equal
  std::string reason;      ///< of unknown; of differs what is different
  State witness;           ///< of differs
};

/// What the normal forms alone say: whether they are the same, else why that is not known.
struct Proof {
  bool equal = false;
  double error_bound = 0;
  std::string reason;
};
Proof prove(Block baseline, Block candidate, const Options& options = {});

/// For many candidates of one baseline, which must outlive it.
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
