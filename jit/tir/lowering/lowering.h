// A program of TIR as a program of the machine: for each operation the instructions that mean the same, checked on the
// real machine (tests/tir). Bodies of branches and loops become subroutines that stand behind the function that they
// are in; a name of the text gets "__" before it.
#pragma once

#include "jit/tir/language/program.h"
#include "jit/tir/lowering/peepholes.h"
#include "jit/tir/tasm/program.h"

namespace trident::tir::lowering {

struct Options {
  PassSet passes = PassSet::all();
};

/// Where elements wait that an operation has to reach past: some hundred words from 2^30 on, or from the first
/// 2^30 + k 2^32 that no constant of the program comes near. A program must leave these words alone where it computes
/// addresses.
inline constexpr std::uint64_t kSpillBase = std::uint64_t{1} << 30;
/// Two addresses are near if they are less apart.
inline constexpr std::uint64_t kSpillMargin = std::uint64_t{1} << 20;
tasm::Element spill_base(const language::Program& program);

/// `program` must be checked, as parse() does. Instructions have the offsets of their operations.
tasm::Program lower(const language::Program& program, const Options& options = {});

}  // namespace trident::tir::lowering
