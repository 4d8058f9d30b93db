// Finds what of a region has an effect, for the selector: values that nobody reads and variables that are set in vain
// get no code.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "jit/region/region.h"
#include "runtime/base/limits.h"

namespace trident::codegen {

/// Returns whether `op` is a comparison.
constexpr bool is_comparison(region::Op op) {
  return region::info(op).signature == region::Signature::Compare;
}

class RegionUses {
 public:
  explicit RegionUses(const region::Region& region);

  /// Returns whether instruction number `index` needs code.
  [[nodiscard]] bool is_needed(std::uint32_t index) const { return needed_[index]; }
  /// Returns how many needed instructions and ends of blocks read the value. Conditions do not count for a comparison,
  /// whose operands are compared where control or a select hangs on it.
  [[nodiscard]] std::uint32_t readers(region::Value v) const { return readers_[v.index]; }
  /// Returns the last place that reads the value, or what is the same register: an instruction, or the block's `last`
  /// for its end.
  [[nodiscard]] std::uint32_t last_reader(region::Value v) const { return last_reader_[v.index]; }

 private:
  using Variables = std::bitset<limits::kRegionVariablesMax>;

  /// Marks what `block` needs, with `live` wanted at its end; returns the variables that it wants from before.
  Variables look_at(const region::Block& block, Variables live);
  [[nodiscard]] Variables wanted_after(const region::Terminator& end) const;
  void count_readers();
  void read(region::Value v, std::uint32_t place, bool as_condition);
  void extend(region::Value v, std::uint32_t place);

  const region::Region& region_;
  std::vector<bool> needed_;
  std::vector<std::uint32_t> readers_, last_reader_;
  std::vector<Variables> wanted_;  ///< at the start of each block
};

}  // namespace trident::codegen
