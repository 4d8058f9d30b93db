// Counts who reads the values of a region, for the selector: values that nobody reads and variables that are set in
// vain get no code. Also finds values that can be made in the register of the variable that they are set to.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "jit/region/liveness.h"
#include "jit/region/region.h"

namespace trident::codegen {

/// Returns whether `op` is a comparison that one condition of the processor's flags can say.
constexpr bool is_comparison(region::Op op) {
  return region::info(op).signature == region::Signature::Compare ||
         region::info(op).signature == region::Signature::Order;
}

/// Returns whether the register of `inst`'s operand is that of its result too: the lower half of a register, or all of
/// it where an instruction of 32 bits has cleared the upper half.
bool shares_register(const region::Region& region, const region::Inst& inst);

class RegionUses {
 public:
  RegionUses(const region::Region& region, std::pmr::memory_resource* arena);

  [[nodiscard]] const region::Liveness& liveness() const { return liveness_; }
  /// Returns whether instruction number `index` needs code.
  [[nodiscard]] bool is_needed(std::uint32_t index) const { return liveness_.is_needed(index); }
  /// Returns how many needed instructions and ends of blocks read the value. Conditions do not count for a comparison,
  /// whose operands are compared where control or a select hangs on it.
  [[nodiscard]] std::uint32_t readers(region::Value v) const { return readers_[v.index]; }
  /// Returns the last place that reads the value, or what is the same register: an instruction, or the block's `last`
  /// for its end.
  [[nodiscard]] std::uint32_t last_reader(region::Value v) const { return last_reader_[v.index]; }

  /// Returns the variable in whose register the value is made, if there is one: nothing reads what the variable held
  /// before once the value is there, and the variable keeps the value as long as it is read.
  [[nodiscard]] std::optional<std::uint32_t> home(region::Value v) const { return homes_[v.index]; }
  /// Returns whether the value is made only where it is set to its home.
  [[nodiscard]] bool is_late(region::Value v) const { return late_[v.index] != 0; }
  /// Returns the value that has made the register of `v`.
  [[nodiscard]] region::Value root(region::Value v) const;

 private:
  void count_readers();
  void read(region::Value v, std::uint32_t place, bool as_condition);
  void extend(region::Value v, std::uint32_t place);

  // Homes.
  void find_homes(const region::Block& block);
  [[nodiscard]] bool may_have_home(region::Value v) const;
  [[nodiscard]] bool is_set_between(std::uint64_t variable, std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] bool leaves_with(std::uint64_t variable, std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] bool is_read_after(const region::Block& block, std::uint64_t variable, std::uint32_t place,
                                   std::uint32_t set) const;
  [[nodiscard]] bool can_be_early(const region::Block& block, region::Value v, std::uint32_t set) const;
  [[nodiscard]] bool can_be_late(region::Value v, std::uint32_t set) const;
  void make_late(region::Value v, std::uint32_t set);

  const region::Region& region_;
  region::Liveness liveness_;
  std::pmr::vector<std::uint32_t> readers_, last_reader_;
  std::pmr::vector<std::optional<std::uint32_t>> homes_;
  std::pmr::vector<std::uint8_t> late_;
};

}  // namespace trident::codegen
