// region -> machine code of x86-64. A pure function; nothing is executed.
#pragma once

#include "jit/codegen/codegen.h"
#include "jit/region/region.h"
#include "jit/regionopt/bulk.h"

namespace trident::codegen {

/// The code's entry: `frame` holds all homes of the region's variables, `windows` as many windows as the region has.
/// Returns after control has left; the frame says how (region::FrameHead). It calls nothing and keeps no state.
using RegionEntry = void (*)(void* frame, const region::Window* windows);

/// Emits `region`, which must pass region::check(). The code needs BMI1, BMI2 and LZCNT, as every processor with AVX2
/// has. Errors: LimitExceeded (code too large, or more stack than a kernel may take).
Result<MachineCode> emit(const region::Region& region);
/// Returns whether code for `isa` is another one than emit(region)'s: of bulk loops, of what is reused, or of floats
/// with AVX-512.
bool gains_from(const regionopt::Bulk& bulk, Isa isa);
/// Emits the region of `bulk`, and code for those of its loops that `isa` can do.
Result<MachineCode> emit(const regionopt::Bulk& bulk, Isa isa);

}  // namespace trident::codegen
