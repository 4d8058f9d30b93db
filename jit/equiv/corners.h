// Points of the set of corners: special values of one variable or of all.
#pragma once

#include "jit/equiv/point_drawer.h"
#include "jit/equiv/set_layout.h"

namespace trident::equiv {

/// corner_values() of every variable.
using Corners = std::vector<std::vector<Bits>>;
Corners corners_of(const PointDrawer& drawer);

/// Adds every combination of range ends, zeros, infinities and NaN; where these are too many, of the ends.
void add_extremes(const expr::Expr& expr, std::vector<Point>& points);
/// Puts special values of one variable among values of every kind of the others: an infinity has other effects on a
/// difference of moderate values than on one of ends.
void add_company(PointDrawer& drawer, std::vector<Point>& points);
/// Adds every combination of corners. Where these are too many, adds corners among the points of `uniform`, and corners
/// of all variables at random.
void add_combinations(PointDrawer& drawer, const SetLayout& layout, const Corners& corners, const Samples& uniform,
                      std::vector<Point>& points);

}  // namespace trident::equiv
