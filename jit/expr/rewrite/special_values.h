// Where floats tell apart what is one value, or none, over the reals: -0 and 0 by copysign, atan2 and divisions, NaN
// and numbers by comparisons, min and max. Identities over the reals give and take signs of zeros, and make 0 of what
// is NaN, so what such an operation sees must stay as it is. Nearly every divisor is zero somewhere; this is about
// values that are so not only at a point between others. Hence no proof, but a look at some points.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::expr::rewrite {

/// Points that are looked at together.
inline constexpr std::size_t kLanes = 64;
/// A value at each of them; integers and truth values as numbers.
using LaneValues = std::array<double, kLanes>;

struct SpecialValues {
  /// Per node: whether floats alone say what it gives somewhere, or whether such a one has the zero, NaN or infinity
  /// from it that it sees there; also whether it is NaN at every point, so that no identity holds of it.
  std::vector<bool> nodes;
  std::uint64_t lanes = 0;  ///< bit i: at point i floats alone say what some node gives
  [[nodiscard]] bool any() const { return std::find(nodes.begin(), nodes.end(), true) != nodes.end(); }
};

/// At the first `count` points; per variable a column, for tables of what they are read as. No derivatives.
SpecialValues special_values(const Expr& expr, std::span<const LaneValues> columns, std::size_t count);

/// ... at points of magnitudes from 0.01 to 10, of either sign, or in the declared ranges: always the same ones. Of a
/// large expression fewer.
SpecialValues special_values(const Expr& expr);

}  // namespace trident::expr::rewrite
