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
  /// Where elements wait that an operation has to reach past; a program must leave the words from here on alone.
  tasm::Element spill_base{std::uint64_t{1} << 30};
};

/// `program` must be checked, as parse() does. Instructions have the offsets of their operations.
tasm::Program lower(const language::Program& program, const Options& options = {});

}  // namespace trident::tir::lowering
