// Draws calls of functions: numbers within their ranges, arrays of 0, 1 and more elements that may share memory,
// budgets that are used up.
#pragma once

#include "jit/trials/draw.h"

namespace trident::trials {

/// Draws the runs of `subject`, which has a call. The draw goes on longer while runs come to blocks that none came to.
Draw draw_calls(const Subject& subject, const Options& options, const Arena& arena);

}  // namespace trident::trials
