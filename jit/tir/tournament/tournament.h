// From a program to a cheaper one that does the same.
//
//   given --> what no run comes to goes --> peepholes --> subroutines (jit/tir/shape)
//         --> blocks: proposals, proven, all at once and one by one --> repeated instructions moved out
//
// Each stage keeps what is cheaper. A cheaper start can end dearer, so that the program goes several ways, with stages
// and proposers left out: first the ways without proposers, which are quick, then the whole one, then others while time
// is left. The cheapest end of all wins, if no sample's proof is taller than that of the given program.
//
// Whatever comes out has passed a second check that knows nothing of how it came about: many generated inputs
// (jit/tir/equiv/trials.h) on which it ends as the given program, and a text that assembles to it. What does not pass
// is put aside, and named: it is a fault of ours.
//
// A change of a block counts only by what it does to the heights of the whole program: fewer words can be worth more
// than fewer cycles, and nothing is worth anything below the next power of two but by opening the way for more. Moving
// repeated instructions out costs cycles with every call, more of them on larger inputs than the samples: it is done
// for a power of two only.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/tir/shape/shape.h"
#include "jit/tir/tasm/blocks.h"
#include "jit/tir/tournament/score.h"

namespace trident::tir::tournament {

using Instructions = std::vector<tasm::Instruction>;
/// Other forms of a block; nothing need be right about them.
struct Proposer {
  std::string name;
  std::function<std::vector<Instructions>(std::span<const tasm::Instruction> block)> propose;
};
/// The superoptimiser, with all its measures. `stop` is asked every few milliseconds and ends it within a block.
Proposer superoptimiser(std::function<bool()> stop = {});

struct Options {
  vm::Budget budget;
  bool peepholes = true, subroutines = true;
  std::span<const shape::ChangeRow> changes = shape::changes();  ///< of subroutines
  std::size_t scores_max = 600;                                  ///< different programs that may be run
  unsigned trials = 300;  ///< generated inputs, for at most a tenth of the time or 50 ms; 0: none
  std::chrono::milliseconds time{10'000};
  /// Called now and then with the share that is done; false ends the search with what there is.
  std::function<bool(double done)> progress;
};

/// What came of one proposer's work.
struct Tally {
  std::string name;
  std::size_t proposed = 0, equal = 0, differ = 0, unknown = 0, won = 0;
};
/// A block of the winner that is not as it was.
struct Change {
  tasm::Block block;  ///< in the program before block changes
  std::string proposer;
  Instructions before, after;
};

/// A block that was asked about, and the shortest form of it that is proven; itself if there is none.
struct Studied {
  Instructions block, best;
};

struct Outcome {
  tasm::Program program;
  Score before, after;
  std::vector<vm::Heights> heights_before, heights_after;  ///< by sample; after: of a run of `program`
  std::vector<Tally> tallies;
  std::vector<Change> changes;
  std::vector<Studied> studied;
  std::vector<std::string> subroutine_changes;
  std::vector<std::string> put_aside;  ///< what did not pass the second check, and why
  bool looks_at_digest = false;        ///< the given program does what it does by its own digest too
  std::size_t scored = 0;
};

/// An error if the program cannot be loaded or fails on a sample.
Result<Outcome> optimise(const tasm::Program& program, std::span<const vm::Inputs> samples,
                         std::span<const Proposer> proposers, const Options& options = {});

}  // namespace trident::tir::tournament
