// Entries of the u32 table: the kinds of instructions that have them, and their rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace trident::tir::vm {

/// Instructions with entries in the u32 table.
enum class U32 : std::uint64_t { split, lt, and_, log_2_floor, pow, pop_count };

/// Returns the rows of one entry.
inline std::uint64_t u32_rows(U32 kind, std::uint64_t left, std::uint64_t right) {
  const std::uint64_t m = kind == U32::pow ? right : std::max(left, right);
  return m == 0 ? 1 : 1 + static_cast<std::uint64_t>(std::bit_width(m));
}

}  // namespace trident::tir::vm
