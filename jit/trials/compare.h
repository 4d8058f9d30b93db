// Finds the first difference between a run of the code and the interpreter's, in words.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "jit/trials/run.h"

namespace trident::trials {

/// Returns nothing when frame and memory after `run` are the interpreter's. Homes of scratch variables do not count.
bool is_same(const Subject& subject, const Run& run, const After& after);

/// Names the first variable, or the first byte of the frame or of memory, that is not the interpreter's. `memory` is
/// what the code left in the arena; this runs the interpreter in the arena again.
std::string difference_of(const Subject& subject, const Arena& arena, const Run& run, const After& after,
                          std::span<const std::byte> memory);

}  // namespace trident::trials
