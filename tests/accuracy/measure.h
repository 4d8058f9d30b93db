// Errors of a block of f32 results, as a few vectorised passes: a walk over all floats spends most of its time here.
#pragma once

#include <cstddef>

namespace trident::accuracy {

/// errors[i] = |got - reference| in ulp of f32; 0 where both are NaN or the same infinity, infinite where one alone is.
/// Returns whether any is not below `limit`.
bool measure_ulp(const float* got, const double* reference, double limit, double* errors, std::size_t count);
/// Measures errors divided by |reference| in the same way.
bool measure_relative(const float* got, const double* reference, double limit, double* errors, std::size_t count);

}  // namespace trident::accuracy
