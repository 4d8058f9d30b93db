// Points where several variables are NaN, infinite or zero together. min, max, selections and comparisons hide a
// special value of one operand, so a value such as min(min(a, b), c) is NaN only where a, b and c all are.
//
//   max(p, min(p, q)) => p, where p = min(min(a, b), c)      differs where a, b and c are NaN and q is a number
//
// Neither special values of one variable nor corners of all at random meet such points: three of many variables are NaN
// at few of a million. For few variables every set of them is NaN together. For more, sets of the least variables that
// make a value special are sought through the expression: one operand's set suffices for arithmetic, min and max need
// both. Each such set is special alone, together with that of another value, and everywhere but there.
#pragma once

#include "jit/equiv/point_drawer.h"

namespace trident::equiv {

/// Returns points where sets of variables are special together; none where no operation hides special values.
std::vector<Point> hidden_specials(PointDrawer& drawer);

}  // namespace trident::equiv
