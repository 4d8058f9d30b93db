// Values of an expression's nodes over the reals at some drawn points: whether two are equal, and whether they vary
// enough to show anything.
#pragma once

#include <vector>

#include "jit/expr/expr.h"

namespace trident::equiv {

/// Correct values at the points, in their order; NaN where they are not known well.
using Values = std::vector<long double>;

/// Returns the values of the given nodes, at points drawn in two ways (uniform and spread). `expr` has passed check();
/// nodes that depend on a reduction have no values.
std::vector<Values> known_values(const expr::Expr& expr, const std::vector<expr::NodeId>& nodes, std::uint64_t seed);

/// Relative tolerance between values of one function; in f32 after casts to it, which round where they stand.
inline constexpr long double kEqualityTolerance = 1e-9L, kNarrowTolerance = 0x1p-21L;
/// True if both are one function of the variables, as far as these points tell: some lie where rounding decides a step.
bool equal_over_the_reals(const Values& a, const Values& b, long double tolerance = kEqualityTolerance);
/// Returns the same for two nodes of an expression that has passed check(), at the points of known_values(); asks few
/// of them where they differ. Nodes that depend on a reduction are not equal.
bool are_equal_over_the_reals(const expr::Expr& expr, expr::NodeId a, expr::NodeId b, std::uint64_t seed,
                              long double tolerance);
/// Returns whether values show anything of their operands: a mask of a rare case is 0 almost everywhere.
bool varies(const Values& values);
/// Returns whether all known values, but one at most, are one value.
bool looks_constant(const Values& values);

}  // namespace trident::equiv
