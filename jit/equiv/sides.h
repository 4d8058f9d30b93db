// Points on both sides of the source's steps: of floor and the like, comparisons, min, max and sign.
#pragma once

#include "jit/equiv/point_drawer.h"
#include "jit/equiv/set_layout.h"

namespace trident::equiv {

/// Returns points on both sides of every kind of step, between points of `uniform`, among values of every kind of the
/// variables that decide nothing.
std::vector<Point> step_points(PointDrawer& drawer, const SetLayout& layout, const Samples& uniform);
/// Returns both sides of jumps among ordinary values: among corners a whole step counts as nothing.
std::vector<Point> jump_points(PointDrawer& drawer, const SetLayout& layout, const Samples& uniform);

}  // namespace trident::equiv
