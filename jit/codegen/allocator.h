// Register allocation for straight-line blocks: a linear scan that evicts the value whose next use is furthest away
// (Belady's rule, optimal for loads on a straight line). Evicting a value with a copy in memory already costs nothing:
// a constant, an array element that nothing has overwritten, a value spilled before.
//
// Instructions whose result must take the place of an operand get one that dies there, or one that has to be loaded
// anyway; only otherwise a move. At most one operand of an instruction stays in memory, where the host can fold it.
#pragma once

#include <span>

#include "jit/codegen/mir.h"
#include "runtime/base/result.h"

namespace trident::codegen {

/// One block on its way: selected, then placed.
struct Stage {
  explicit Stage(std::pmr::memory_resource* arena) : block(arena), placed(arena) {}
  Block block;
  std::pmr::vector<Placed> placed;
};

struct AllocationCounts {
  std::uint32_t spills = 0;   ///< values stored to the frame
  std::uint32_t reloads = 0;  ///< loads that the program does not have: from the frame, of constants, of array elements
  std::uint32_t moves = 0;
};

/// Returns the greatest number of locals of each class that are alive at once.
std::array<std::uint32_t, kRegClasses> peak_pressure(const Function& function, const Block& block);

/// A block, and how often it runs compared with others.
struct WeightedBlock {
  const Block* block;
  std::uint32_t weight = 1;
};

/// Gives the globals that `blocks` read or update most a register for the whole function, as far as the pressure of the
/// heaviest blocks leaves some of `registers`; returns the registers that remain for locals. Globals without a register
/// keep or get a home in memory; those that have a register already keep it.
RegSet assign_globals(Function& function, std::span<const WeightedBlock> blocks, const RegSet& registers);

/// Does as assign_globals, in one pass without lookahead: globals without a home in memory get registers while more
/// than half of them are left. For code that has to be made quickly.
RegSet assign_homeless_globals(Function& function, const RegSet& registers);

/// Appends `block` with registers out of `available` to `out`. Spills go to new places in the function's frame.
AllocationCounts allocate(Function& function, const Block& block, const RegSet& available,
                          std::pmr::vector<Placed>& out);

/// Fails for a kernel that needs more bytes of stack than limits::kKernelFrameBytesMax.
Result<void> check_frame(std::uint32_t bytes);

}  // namespace trident::codegen
