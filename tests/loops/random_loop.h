// Random loops, and their comparison with Unicorn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/loop/discover.h"
#include "jit/region/region.h"
#include "tests/loops/unicorn_guest.h"

namespace trident::tests {

/// A body of any instructions, branches over some of them, bases that move; it ends after at most 20 rounds. `frame`
/// and `memory` are a state to enter it in, at one of two places.
struct RandomLoop {
  std::vector<std::uint32_t> code;
  GuestFrame frame;
  std::vector<std::uint8_t> memory;  ///< kDataBytes between margins
};
RandomLoop random_loop(testing::Random& random);
/// Two such loops, the second one behind the first and a few instructions.
RandomLoop random_loops_in_a_row(testing::Random& random);

/// Memory on each side of the guest's, which belongs to nobody: code without a guard may go there.
inline constexpr std::size_t kMarginBytes = 64;

/// The loop as it is made for kCodeBase.
loop::Loop discovered(const RandomLoop& random);
/// Likewise, the two loops in one; nothing where these are no two loops.
std::optional<loop::Loop> discovered_joined(const RandomLoop& random);
std::string listing(const std::vector<std::uint32_t>& code);

struct Compared {
  std::optional<region::Exit> exit;
  GuestFrame frame{};  ///< and memory: after the region
  std::vector<std::uint8_t> memory;
  std::string difference;  ///< from Unicorn; empty when there is none, and after the budget was used up
};
/// How a region may be wrong, for which the comparison then takes longer.
struct Weakness {
  bool is_any = false;      ///< the guest may not come to the region's exit
  std::size_t widened = 0;  ///< windows are longer by so many bytes on each side
};
/// Interprets `region` and lets the guest run the loop.
Compared compared(const region::Region& region, const RandomLoop& loop, UnicornGuest& guest,
                  const Weakness& weakness = {});

/// As many windows as the region has, to the guest's memory.
std::vector<region::Window> windows_to(std::vector<std::uint8_t>& memory, const region::Region& region,
                                       std::size_t widened = 0);

}  // namespace trident::tests
