// References for the accuracy campaign: libm in a wider type than the one under test, which is right far beyond the
// last digit that is reported except where an error ties with the greatest so far; there MPFR decides (mpfr_oracle.h).
#pragma once

#include "jit/kir/math/math.h"

namespace trident::accuracy {

/// f at (x, y) in double, for f32 results; y is ignored by functions of one argument.
double reference_f32(kir::math::Function f, double x, double y);
/// Computes `count` values of a function of one argument, through vector math if there is any. A value of each call is
/// checked against reference_f32(), and one that differs by more than 2^-20 ulp of f32 is a bug.
void reference_f32(kir::math::Function f, const float* x, double* out, std::size_t count);
#if defined(__x86_64__)
/// Computes vectors on processors with AVX-512; false if there is no vector form of f.
bool vector_reference_f32(kir::math::Function f, const float* x, double* out, std::size_t count);
#endif
/// f at (x, y) in long double, for f64 results.
long double reference_f64(kir::math::Function f, long double x, long double y);

}  // namespace trident::accuracy
