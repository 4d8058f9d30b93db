// Are two whole programs the same?
//
// Programs with the same control (the same jumps between straight blocks, in the same order) are the same if their
// blocks are, one by one (equiv.h), and so what is written between them. Others are run on samples: that finds
// differences, but proves nothing. Runs that fail are the same if both fail, however they do, and have written the same
// before. A run that ends differs from one that goes on for several times its cycles. Two runs that both go on say
// nothing, and are counted.
//
// The digest of a program lies at the bottom of its stack at first. Two texts have two digests, so programs are
// compared from one and the same stack.
#pragma once

#include <string>

#include "jit/tir/equiv/equiv.h"

namespace trident::tir::equiv {

struct Samples {
  std::uint64_t seed = 1;
  /// Runs of both. The first is of `given` as it is, others have some of its elements changed; every other one has
  /// random inputs.
  unsigned count = 200;
  std::uint64_t cycles = 200'000;
  State given;  ///< an empty stack stands for sixteen zeros
  /// Asked before each run, with how many are done of how many; false ends the comparison with those.
  std::function<bool(unsigned done, unsigned total)> goes_on{};
};

struct Comparison {
  Answer answer = Answer::unknown;
  double error_bound = 0;            ///< of equal
  std::string reason;                ///< what is different, or why it is not known
  State witness;                     ///< of differs
  unsigned samples = 0, failed = 0;  ///< runs, and in how many of them both failed
  unsigned undecided = 0;            ///< runs of which neither had ended by the limit of cycles, or met another limit
};

Comparison compare(const tasm::Program& a, const tasm::Program& b, const Samples& samples = {});

}  // namespace trident::tir::equiv
