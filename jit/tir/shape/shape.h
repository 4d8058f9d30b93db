// Changes of a program's subroutines. From every state the changed program ends as the given one, in other cycles: the
// jump stack is seen by nobody but the instructions that go back, and the program's own digest is not looked at.
#pragma once

#include <string_view>

#include "jit/tir/tasm/program.h"

namespace trident::tir::shape {

struct ChangeRow {
  std::string_view name, meaning;
  tasm::Program (*apply)(const tasm::Program& program);
};
/// In the order in which they help each other. A change that fits nowhere gives the same program.
std::span<const ChangeRow> changes();

/// The repeated straight-line instructions whose removal saves most words, moved into a subroutine; the same program if
/// nothing is saved, or if it has more than 100,000 instructions.
tasm::Program outline_one(const tasm::Program& program);

}  // namespace trident::tir::shape
