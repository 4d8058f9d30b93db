// Flags that are set one after the other, as far as a question allows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace trident::equiv {

/// Sets the flags of `list` in its order, each if `holds()` with it and those set before. What holds with several flags
/// must hold with fewer. So several are set at once: twice as many after each success, half as many after a failure.
template <class Holds>
void set_in_turn(std::span<const std::uint32_t> list, std::vector<bool>& flags, Holds holds) {
  for (std::size_t together = 1; !list.empty();) {
    const auto tried = list.first(std::min(together, list.size()));
    for (const std::uint32_t flag : tried) flags[flag] = true;
    const bool held = holds();
    for (const std::uint32_t flag : tried) flags[flag] = held;
    if (held || tried.size() == 1) list = list.subspan(tried.size());
    together = held ? 2 * tried.size() : std::max<std::size_t>(tried.size() / 2, 1);
  }
}

}  // namespace trident::equiv
