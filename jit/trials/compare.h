// Says in words how a run of the code differs from the interpreter's.
#pragma once

#include <string>

#include "jit/trials/draw.h"

namespace trident::trials {

/// Names the first variable, or the first byte of the frame or of memory, that is not the interpreter's. The arena has
/// what the code left; this runs the interpreter there.
std::string difference_of(const Subject& subject, const Arena& arena, const Run& run);

}  // namespace trident::trials
