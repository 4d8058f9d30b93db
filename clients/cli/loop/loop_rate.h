// Times a loop's machine code on drawn data.
//
// A run needs registers and memory with which the loop goes round: pointers where addresses come from, bounds beyond
// them, counters. Nobody says which is which, so many states are drawn, the interpreter runs each, and the one with the
// most rounds is timed.
#pragma once

#include "clients/cli/loop/looked_at.h"

namespace trident::cli {

/// Runs the code in a sandboxed child. A loop that never goes round on drawn data has a note instead of a rate.
/// `looked` has code.
Result<Rate> measured_rate(const LookedAt& looked);

}  // namespace trident::cli
