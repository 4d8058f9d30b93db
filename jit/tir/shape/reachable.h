// Finds reachable code: a flow through the lines that ignores values, as any call may return and any `skiz` may skip.
#pragma once

#include "jit/tir/tasm/program.h"

namespace trident::tir::shape {

/// Removes the instructions that no run reaches: code behind `halt`, `return` or `recurse` that is
/// not skipped to, and subroutines that are called from such code only.
tasm::Program reachable(const tasm::Program& program);

}  // namespace trident::tir::shape
