// What a run can come to: a flow through the lines that asks no value, as a call may come back and a `skiz` may skip.
#pragma once

#include "jit/tir/tasm/program.h"

namespace trident::tir::shape {

/// The program without the instructions that no run comes to: what stands behind `halt`, `return` or `recurse` and is
/// not skipped to, and subroutines that are called from such places only.
tasm::Program reachable(const tasm::Program& program);

}  // namespace trident::tir::shape
