// Casts to the narrow elements of arrays: u8, i8, u16, i16, u32, u64, bool8, f16, and u8_sat and the like. Their values
// are those that an element can hold, in the type of ir::facts_of(); an output whose last operation is such a cast
// keeps its elements so.
//
//   u8(x)       as NumPy's astype: the fraction is dropped, and the low bits are kept. NaN, and floats that fit no i32
//               (u32, u64: no i64) count as its least integer, so they give 0
//   u8_sat(x)   as video filters store: rounded to nearest, ties to even, and clamped; NaN gives the least value
//   bool8(x)    x != 0, as 0 or 1
//   f16(x)      rounded to nearest, ties to even, from f32: by the store where it is the last operation, else by
//               operations on f64
#pragma once

#include <optional>
#include <string_view>

#include "jit/ir/storage.h"

namespace trident::expr {

struct NarrowCast {
  ir::Storage storage = ir::Storage::own;
  bool saturates = false;
};
/// Returns the cast that texts call by this name.
std::optional<NarrowCast> narrow_cast_named(std::string_view name);

}  // namespace trident::expr
