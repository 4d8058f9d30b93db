// Makes a program cheaper to prove without changing its results.
//
//   given --> unreachable code removed --> peepholes --> subroutines (jit/tir/shape)
//         --> blocks: proposals, proven, all at once and one by one --> repeated instructions moved out
//
// Each stage keeps a cheaper program. A cheaper start can end dearer, so the program goes several ways, with stages
// and proposers left out: first the ways without proposers, which are quick, then those without the first proposer,
// which is the slowest, then the whole one, then others. Each takes at most half of the time that is left. Some ways
// begin at another form of the program, if the caller has one. The cheapest end of all wins, if no sample's proof is
// taller than that of the given program.
//
// Every result has passed a second check, which is independent of the stages: many generated inputs
// (jit/tir/equiv/trials.h) on which it ends as the given program, and a text that assembles to it. A program that fails
// is put aside and reported: it is a bug of ours.
//
// A change of a block counts only by its effect on the heights of the whole program: fewer words can be worth more
// than fewer cycles, and below the next power of two a change is only worth something if it enables others. Moving
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
/// Asked every few milliseconds; true ends the work with what was found so far.
using Stop = std::function<bool()>;
/// Proposes other forms of a block; they need not be right.
struct Proposer {
  std::string name;
  std::function<std::vector<Instructions>(std::span<const tasm::Instruction> block, const Stop& stop)> propose;
};
/// Returns the superoptimiser with all its measures.
Proposer superoptimiser();

struct Options {
  vm::Budget budget;
  bool peepholes = true, subroutines = true;
  std::span<const shape::ChangeRow> changes = shape::changes();  ///< changes of subroutines
  /// Programs that do the same as the given one, as a text of TIR lowered without peepholes. The ways that have no
  /// peepholes begin at them too.
  std::span<const tasm::Program> other_starts{};
  std::size_t scores_max = 600;  ///< most programs that are run
  unsigned trials = 300;         ///< generated inputs, for at most a tenth of the time or 50 ms; 0: none
  std::chrono::milliseconds time{10'000};
  /// Called now and then with the share that is done; false ends the search with the best so far.
  std::function<bool(double done)> progress;
};

/// Counts of one proposer's proposals.
struct Tally {
  std::string name;
  std::size_t proposed = 0, equal = 0, differ = 0, unknown = 0, won = 0;
};
/// A changed block of the winner.
struct Change {
  tasm::Block block;  ///< in the program before block changes
  std::string proposer;
  Instructions before, after;
};

/// A block that was proposed for, and its shortest proven form; itself if there is none.
struct Studied {
  Instructions block, best;
};

struct Outcome {
  tasm::Program program;
  Score before, after;
  std::vector<vm::Heights> heights_before, heights_after;  ///< per sample; after: for a run of `program`
  std::vector<Tally> tallies;
  std::vector<Change> changes;
  std::vector<Studied> studied;
  std::vector<std::string> subroutine_changes;
  std::vector<std::string> put_aside;  ///< programs that failed the second check, and why
  bool looks_at_digest = false;        ///< the given program's results depend on its own digest
  std::size_t scored = 0;
};

/// Makes `program` cheaper. Returns an error if it cannot be loaded or fails on a sample.
Result<Outcome> optimise(const tasm::Program& program, std::span<const vm::Inputs> samples,
                         std::span<const Proposer> proposers, const Options& options = {});

}  // namespace trident::tir::tournament
