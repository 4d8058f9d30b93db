// An expression's real value at one point, in MPFR: every op over (nearly) the reals. The oracle for derivatives, for
// identities and for what a kernel should compute. Floats only: casts to integers truncate; integers and truth values
// follow from the real values.
#pragma once

#include <vector>

#include "jit/expr/expr.h"

namespace trident::testing {

/// The meaning of a cast from f64 to f32. Over the reals, where the laws of rules hold, it changes nothing; in an
/// expression it rounds.
enum class Casts { exact, rounding };

/// The values of the outputs at inputs[v] + offset[v] for variable v, at `precision_bits`, rounded to long double. No
/// reductions, derivatives or integer arithmetic. `difference`: instead the central difference quotient of each output
/// with respect to variable `wrt` with step 2^-step_bits.
std::vector<long double> evaluate_real(const expr::Expr& expr, const std::vector<double>& inputs, int precision_bits,
                                       Casts casts = Casts::exact);
std::vector<long double> difference_quotient(const expr::Expr& expr, const std::vector<double>& inputs,
                                             std::uint32_t wrt, int precision_bits, int step_bits);

}  // namespace trident::testing
