// Lanes of one or two bytes. Values of narrow arrays are i32 (jit/ir/storage.h), but few kernels over them need 32
// bits: sums of pixels fit into 16, and a store of bytes asks for 8. A vector of smaller lanes holds more elements.
//
// A lane holds the low bits of its value. They are enough for sums, products, logic and stores. An interval of each
// value tells whether its lane holds all of it, with or without a sign. Shifts to the right, comparisons and extremes
// need that. Some values that do not fit are never made: |x - y|, min(x + y, 255) and (x + y + 1) >> 1 are one step
// each.
//
//   (x*77 + y*179) >> 8, x and y u8      two bytes: the sum is at most 65280
//   u8(select(x > y, x - y, 0))          one byte
//   u16(x*y), x and y u16                two bytes; (x*y) >> 8 has no small lanes
//
// One width serves a whole body. Reductions have no small lanes: their sums need the width of values, and loops of
// loads that widen and one join for each vector are as fast as clang's, which does the same (sums, sums of products and of
// differences, extremes). Nor have tables: a gather reads four bytes whatever it needs of them, so a table of bytes
// would save nothing but its room. The plan knows no host.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/kir/kir.h"

namespace trident::codegen {

enum class LaneForm : std::uint8_t {
  none,           ///< not computed in lanes
  leaf,           ///< a constant, a parameter, an array's element
  copy,           ///< a
  op,             ///< the op of kir; shifts are by `count`
  sign_extended,  ///< the sum's low bits, moved up and down again by `count`
  add_saturated,  ///< min(a + b, c); signed: a + b clamped to the lane, without c
  sub_saturated,  ///< max(a - b, c); signed: a - b clamped to the lane, without c
  difference,     ///< |a - b|
  average,        ///< (a + b + 1) >> 1, unsigned
  average_down,   ///< (a + b) >> 1, unsigned
  product_high,   ///< (a * b) >> the lane's bits
};

struct LaneValue {
  LaneForm form = LaneForm::none;
  bool is_signed = false;  ///< how lanes are read, where that matters
  bool needed = false;
  std::uint8_t count = 0;
  kir::Value a{}, b{}, c{};  ///< operands; c of add_saturated and sub_saturated may be missing
};

struct SmallLanes {
  std::uint32_t bytes = 1;        ///< of a lane
  std::vector<LaneValue> values;  ///< by instruction
};

/// Plans the smallest lanes that compute all outputs of `kernel`; nothing where none do, or where nothing is stored.
std::optional<SmallLanes> small_lanes(const kir::Kernel& kernel);

}  // namespace trident::codegen
