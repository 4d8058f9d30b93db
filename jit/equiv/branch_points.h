// Points that take the branches of selections.
#pragma once

#include "jit/equiv/corners.h"

namespace trident::equiv {

/// Finds sets of points for each of branches_of(). Deciding variables take values that the source names, and their
/// neighbours. Sets are small and of one kind each, since errors count in ulp of a set's greatest value; values far
/// out join the corners, `points`. Returns false where it missed a branch that the ranges do not exclude.
bool explore_branches(PointDrawer& drawer, const SetLayout& layout, std::vector<Samples>& sets, const Corners& corners,
                      std::vector<Point>& points);

}  // namespace trident::equiv
