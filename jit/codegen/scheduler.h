// List scheduling of a straight-line block for an out-of-order core.
//
// The core reorders by itself within a window of some hundred instructions, so the aim is not exact cycles but that
// every window holds enough independent work: the copies of the body are interleaved by critical path, as long as the
// values alive fit into the registers. Loads wait for nothing and would only lengthen live ranges, so each goes right
// before its first reader.
#pragma once

#include "jit/codegen/mir.h"

namespace trident::codegen {

struct ScheduleOptions {
  std::uint8_t vector_pipes = 2;  ///< vector instructions started per cycle
  std::uint8_t issue_width = 6;
  std::array<std::uint32_t, kRegClasses> registers{32, 7};  ///< for locals; more alive than this is avoided
};

/// Reorders `block`, keeping its meaning. Blocks of more than kScheduledMax instructions stay as they are.
void schedule(const Function& function, Block& block, const ScheduleOptions& options);

inline constexpr std::size_t kScheduledMax = 16384;

}  // namespace trident::codegen
