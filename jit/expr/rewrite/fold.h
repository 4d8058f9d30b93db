// Folding of ops on constants, in double: only where the result stands for the real value and for nothing else.
#pragma once

#include <optional>

#include "jit/expr/expr.h"

namespace trident::expr::rewrite {

/// Returns how much `sum`, a + b as rounded, lacks of the real sum (Knuth's two-sum); NaN unless all are finite.
[[nodiscard]] double lost_by_sum(double a, double b, double sum);

/// Returns whether `sum`, a + b as rounded, stands for another value than the real sum: a number of few bits that the
/// sum is not (1 + 1e-24), the rest of rounded numbers that nearly cancel, or one operand alone (1e300 + 1e-200). Exact
/// zeros do not.
[[nodiscard]] bool loses_digits(double a, double b, double sum);

/// Evaluates `n` on constants in doubles, rounded once, with overflow and underflow; NaN for ops that are not
/// evaluated.
[[nodiscard]] double in_doubles(const Node& n, double a, double b, double c);

/// Folds `n`, an op on f32 or f64, on its operands among `a`, `b` and `c`. The result is the real value but for a few
/// roundings. It is a number of few bits, such as 1 or 0.5, only where that is exact: exp(1e-300) is not 1, as rules
/// would read it, and cosh(25) is not sinh(25). Returns nothing after underflow or overflow, for values rounded to few
/// bits, where rounded numbers cancel, and for functions that doubles do not tell from their operand, a limit or one
/// another.
[[nodiscard]] std::optional<double> fold(const Node& n, double a, double b, double c);

}  // namespace trident::expr::rewrite
