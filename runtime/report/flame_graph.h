// Flame graphs: what calls what, and how much each bears, in one self-contained SVG. After Gregg, "The Flame Graph",
// CACM 59(6), 2016.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trident::report {

/// A frame is as wide as it and all below it bear.
struct Flame {
  std::string name;
  std::size_t parent = 0;  ///< index, below its own; of the first itself
  std::uint64_t own = 0;   ///< in `unit`
};

/// Own and of all below it, by flame.
std::vector<std::uint64_t> totals_of(const std::vector<Flame>& flames);

/// Callers stand above what they call. Frames too narrow to be seen are left out; each shown tells its figures when
/// pointed at.
std::string flame_svg(const std::vector<Flame>& flames, const std::string& title, const std::string& unit);

}  // namespace trident::report
