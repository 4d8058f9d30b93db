// Changes a program's subroutines. From every state the changed program ends as the given one, in other cycles. Only
// instructions that go back look at the jump stack, so it may differ; the program's own digest is not compared.
#pragma once

#include <string_view>

#include "jit/tir/tasm/program.h"

namespace trident::tir::shape {

struct ChangeRow {
  std::string_view name, meaning;
  tasm::Program (*apply)(const tasm::Program& program);
};
/// Lists the changes in the order in which they help each other. One that does not apply gives the same program.
std::span<const ChangeRow> changes();

/// Moves the repeated straight-line instructions whose removal saves most words into a subroutine; the same program if
/// this saves nothing, or if it has more than 100,000 instructions.
tasm::Program outline_one(const tasm::Program& program);

}  // namespace trident::tir::shape
