// References for the accuracy campaign: libm in a wider type than the one under test, which is right far beyond the
// last digit that is reported except where an error ties with the greatest so far; there MPFR decides (mpfr_oracle.h).
#pragma once

#include "jit/kir/math/math.h"

namespace trident::accuracy {

/// f at (x, y) in double, for f32 results; y is ignored by functions of one argument.
double reference_f32(kir::math::Function f, double x, double y);
/// The same in long double, for f64 results.
long double reference_f64(kir::math::Function f, long double x, long double y);

}  // namespace trident::accuracy
