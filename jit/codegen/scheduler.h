// List scheduling of a straight-line block for an out-of-order core.
//
// The core reorders by itself within a window of some hundred instructions. So the aim is not exact cycles, but enough
// independent work in every window: the copies of the body are interleaved by critical path, as long as the live values
// fit into the registers. Loads depend on nothing and would only lengthen live ranges, so each goes right before its
// first reader.
#pragma once

#include "jit/codegen/mir.h"

namespace trident::codegen {

struct ScheduleOptions {
  std::uint8_t vector_pipes = 2;  ///< vector instructions started per cycle
  std::uint8_t issue_width = 6;
  std::array<std::uint32_t, kRegClasses> registers{32, 7};  ///< for locals; more alive than this is avoided
};

/// Reorders `block` of a kernel (it has no branches and no computed addresses), keeping its meaning. Blocks of more
/// than kScheduledMax instructions stay as they are.
void schedule(const Function& function, Block& block, const ScheduleOptions& options);

inline constexpr std::size_t kScheduledMax = 16384;

}  // namespace trident::codegen
