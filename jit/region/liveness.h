// Finds what of a region matters: instructions that have an effect, and variables whose values are wanted.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "jit/region/region.h"
#include "runtime/base/limits.h"

namespace trident::region {

class Liveness {
 public:
  using Variables = std::bitset<limits::kRegionVariablesMax>;

  explicit Liveness(const Region& region, std::pmr::memory_resource* arena = std::pmr::get_default_resource());

  /// Returns whether instruction number `index` has an effect, or makes a value that one with an effect needs. Setting
  /// a variable whose value nobody wants has none.
  [[nodiscard]] bool is_needed(std::uint32_t index) const { return needed_[index] != 0; }
  /// The variables that are set somewhere and have a home that is somebody's to read.
  [[nodiscard]] const Variables& written() const { return written_; }
  /// The variables whose values at entry matter: they are read, or they are written back at an exit that control can
  /// come to without setting them.
  [[nodiscard]] const Variables& wanted_at_entry() const { return wanted_[0]; }
  /// The variables whose values at the start of block number `block` matter.
  [[nodiscard]] const Variables& wanted_at(std::uint32_t block) const { return wanted_[block]; }

 private:
  /// Marks what block number `number` needs, with `live` wanted at its end; returns the variables that it wants from
  /// before.
  Variables look_at(std::size_t number, Variables live);
  [[nodiscard]] Variables wanted_after(const Terminator& end) const;

  const Region& region_;
  Variables written_;
  std::pmr::vector<std::uint8_t> needed_;
  // By block:
  std::pmr::vector<Variables> wanted_, after_;  ///< at its start; at its end, when it was looked at last
  std::pmr::vector<std::uint8_t> may_change_;   ///< an access of it may go to a block whose wants were not final
};

}  // namespace trident::region
