// Gives registers to the globals of a region: variables, words of windows, constants. Two variables share a register if
// no block needs both. What a block does not need is left to its locals.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "jit/codegen/allocator.h"
#include "jit/region/liveness.h"
#include "jit/region/region.h"

namespace trident::codegen {

/// How often a block that leaves runs, compared with `kInsideWeight`: a block that does not, outside of loops.
inline constexpr std::uint32_t kExitWeight = 1, kInsideWeight = 64;

/// Returns how often each block runs, compared with the others: by the depth of its loop. Loops are taken to be the
/// blocks from a target of a jump back to the jump.
std::pmr::vector<std::uint32_t> block_weights(const region::Region& region, std::pmr::memory_resource* arena);

/// The registers of a host that regions may use, one bit each.
struct RegisterFile {
  RegSet all{};
  std::uint32_t saved = 0;  ///< general registers that the caller wants back
};

/// Assigns `fixed`, or a home in memory, to each global; variable number i is `variables[i]`. Returns the registers of
/// `file` that locals may use in each block.
std::pmr::vector<RegSet> assign_region_registers(Function& function, std::span<const WeightedBlock> blocks,
                                                 const region::Region& region, const region::Liveness& liveness,
                                                 std::span<const VReg> variables, const RegisterFile& file);

}  // namespace trident::codegen
