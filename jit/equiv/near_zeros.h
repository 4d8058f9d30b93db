// Points near to where a value of the source vanishes.
#pragma once

#include "jit/equiv/point_drawer.h"
#include "jit/equiv/set_layout.h"

namespace trident::equiv {

/// Adds sets of points at all distances from where a critical value is least, in bands of distances, since each has
/// its own scale. Draws the other variables in two ways.
void add_near_zeros(PointDrawer& drawer, const SetLayout& layout, std::vector<Samples>& sets);
/// Adds sets of points where a value whose sign decides is zero to the bit, from starts of few bits and others.
void add_signs(PointDrawer& drawer, const SetLayout& layout, std::vector<Samples>& sets);

}  // namespace trident::equiv
