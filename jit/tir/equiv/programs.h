// Decides whether two whole programs are the same.
//
// Programs with the same control flow (the same jumps between straight blocks, in the same order) are the same if
// each pair of blocks is (equiv.h), and so are the pieces between writes. Others are run on samples, which finds
// differences but proves nothing. Two runs that fail, in whatever way, are the same if they have written the same
// before. A run that ends differs from one that goes on for several times its cycles. Where the limit of cycles is
// too low to tell, the runs are undecided and counted as such.
//
// A program's digest lies at the bottom of its stack at first. Two texts have two digests, so both programs start
// from the same stack.
#pragma once

#include <string>

#include "jit/tir/equiv/equiv.h"

namespace trident::tir::equiv {

struct Samples {
  std::uint64_t seed = 1;
  /// Number of runs of both. The first uses `given` as it is, others change some of its elements; every other one has
  /// random inputs.
  unsigned count = 200;
  std::uint64_t cycles = 200'000;  ///< no run takes more
  State given;                     ///< an empty stack stands for sixteen zeros
  /// Called before each run with how many of how many are done; false ends the comparison there.
  std::function<bool(unsigned done, unsigned total)> goes_on{};
};

struct Comparison {
  Answer answer = Answer::unknown;
  double error_bound = 0;            ///< for equal
  std::string reason;                ///< what is different, or why it is not known
  State witness;                     ///< for differs: a state that shows it
  unsigned samples = 0, failed = 0;  ///< runs, and in how many of them both failed
  unsigned undecided = 0;            ///< runs that the limit of cycles is too low for, or stopped by another limit
};

Comparison compare(const tasm::Program& a, const tasm::Program& b, const Samples& samples = {});

}  // namespace trident::tir::equiv
