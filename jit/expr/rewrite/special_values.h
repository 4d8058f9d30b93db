// Finds nodes where floats tell values apart that are one value, or none, over the reals: -0 and 0 by copysign, atan2
// and divisions, NaN and numbers by comparisons, min and max. Identities over the reals change signs of zeros and make
// 0 of NaN, so the operands of such a node must stay as they are. Nearly every divisor is zero at some isolated point;
// only special values that occur elsewhere count. So this proves nothing, but looks at some points.
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
  /// Per node: whether its result somewhere depends on such float behaviour, or whether such a node sees a zero, NaN or
  /// infinity that comes from it; also whether it is NaN at every point, so that no identity holds of it.
  std::vector<bool> nodes;
  std::uint64_t lanes = 0;  ///< bit i: at point i the result of some node depends on such float behaviour
  [[nodiscard]] bool any() const { return std::find(nodes.begin(), nodes.end(), true) != nodes.end(); }
};

/// Looks at the first `count` points. A column per variable; a table's holds its elements as they are read. No Diff.
SpecialValues special_values(const Expr& expr, std::span<const LaneValues> columns, std::size_t count);

/// Looks at fixed points: magnitudes from 0.01 to 10 of either sign, or values in the declared ranges; fewer for a
/// large expression.
SpecialValues special_values(const Expr& expr);

}  // namespace trident::expr::rewrite
