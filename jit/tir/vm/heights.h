// Heights of a run's tables, and their cost: the prover's time is that of the tallest, rounded up to a
// power of two.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trident::tir::vm {

enum class Table : std::uint8_t {
#define X(name, meaning) name,
#include "jit/tir/vm/tables.def"
#undef X
};
inline constexpr std::string_view kTableNames[] = {
#define X(name, meaning) #name,
#include "jit/tir/vm/tables.def"
#undef X
};
inline constexpr std::size_t kTableCount = std::size(kTableNames);
inline constexpr std::uint64_t kLookupRows = 256;

struct Heights {
  std::uint64_t rows[kTableCount] = {};

  bool operator==(const Heights&) const = default;
  [[nodiscard]] std::uint64_t& of(Table table) { return rows[static_cast<std::size_t>(table)]; }
  [[nodiscard]] std::uint64_t of(Table table) const { return rows[static_cast<std::size_t>(table)]; }
  /// Returns the first of the tallest tables.
  [[nodiscard]] Table tallest() const { return static_cast<Table>(std::max_element(rows, rows + kTableCount) - rows); }
  [[nodiscard]] std::uint64_t padded() const { return std::bit_ceil(of(tallest())); }
};

}  // namespace trident::tir::vm
