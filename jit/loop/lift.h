// Makes a region of a loop: the loop's meaning, windowed, with every exit exact.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "jit/loop/discover.h"
#include "jit/region/region.h"

namespace trident::loop {

/// A window is for the accesses that one base register makes. Each cycle of joined loops has windows of its own,
/// because code between them sets pointers anew.
struct Window {
  std::uint32_t cycle = 0;
  std::uint8_t base = 0;
  friend auto operator<=>(const Window&, const Window&) = default;
};
/// Window 0, window 1, .., in rising order.
std::vector<Window> windows_of(const Loop& loop);

/// The region works on a frame of aarch64::kFrameBytes whose words are those of lifter.h. It begins at the loop's head,
/// and pc must be the head's address at entry. That need not be loop.head: the region serves the loop wherever it
/// stands. Every jump backwards takes one of the budget; with none left it leaves with Exit::budget, at the jump's
/// target. Where it leaves, pc is the guest's next instruction, and registers, flags and memory are what the guest has
/// there. Passes region::check(). LimitExceeded: windows_of() are more than windows of a region, or the region is too
/// large.
Result<region::Region> lift(const Loop& loop);

}  // namespace trident::loop
