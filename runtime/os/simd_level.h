// Instruction-set levels. A source file with inner loops is compiled once per level (cmake/levels.cmake), and the
// highest level that runs here is chosen at run time (level_variants.h). Sources compiled for a level include this
// header, so it has no inline functions: the linker could take one level's copy for another's.
#pragma once

#include <cstdint>

namespace trident::os {

/// Levels by rising demand. `portable` is the baseline of the architecture: SSE2 or NEON.
enum class SimdLevel : std::uint8_t { portable, avx2, avx512, avx512vnni };
inline constexpr SimdLevel kSimdLevels[] = {SimdLevel::portable, SimdLevel::avx2, SimdLevel::avx512,
                                            SimdLevel::avx512vnni};

/// Returns the level's name as cmake/levels.cmake has it.
const char* name_of(SimdLevel level);

/// Returns true when this processor runs code of the level. (`avx512` takes AVX-512 CD, which kernel images do not.)
bool runs_here(SimdLevel level);

}  // namespace trident::os
