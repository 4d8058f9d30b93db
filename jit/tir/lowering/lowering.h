// Lowers a program of TIR to the machine: each operation becomes instructions of the same meaning, checked on the
// real machine (tests/tir). Bodies of branches and loops become subroutines behind the function that contains them;
// a name of the text gets "__" before it.
#pragma once

#include "jit/tir/language/program.h"
#include "jit/tir/lowering/peepholes.h"
#include "jit/tir/tasm/program.h"

namespace trident::tir::lowering {

struct Options {
  PassSet passes = PassSet::all();
};

/// Default address of spilled elements: some hundred words from 2^30 on, or from the first 2^30 + k 2^32 that has no
/// constant of the program near it. A program that computes addresses must leave these words alone.
/// An element is spilled when an operation must reach below it.
inline constexpr std::uint64_t kSpillBase = std::uint64_t{1} << 30;
/// Least distance of two addresses that are not near each other.
inline constexpr std::uint64_t kSpillMargin = std::uint64_t{1} << 20;
tasm::Element spill_base(const language::Program& program);

/// Lowers a checked `program`, as parse() returns it. Instructions have the offsets of their operations.
tasm::Program lower(const language::Program& program, const Options& options = {});

}  // namespace trident::tir::lowering
