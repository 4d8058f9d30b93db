// Folding of ops on constants, in double: only where the result stands for the real value and for nothing else.
#pragma once

#include <optional>

#include "jit/expr/expr.h"

namespace trident::expr::rewrite {

/// What `sum`, a + b as rounded, is short of the real sum (Knuth's two-sum); not a number where one is not finite.
[[nodiscard]] double lost_by_sum(double a, double b, double sum);

/// Whether `sum`, a + b as rounded, stands for something else than the real sum: for a number of few bits that it is
/// not (1 + 1e-24), for what is left of rounded numbers that nearly cancel, or for one of them alone (1e300 + 1e-200).
/// Exact zeros do not.
[[nodiscard]] bool loses_digits(double a, double b, double sum);

/// The value of `n` on constants as doubles have it, rounded once, overflowing and underflowing as they do; not a
/// number of ops that are not evaluated.
[[nodiscard]] double in_doubles(const Node& n, double a, double b, double c);

/// The value of `n`, an op on f32 or f64, on the constants `a`, `b` and `c` (those that it has). It is the real value
/// but for a few roundings, and it is a number of few bits, as 1 or 0.5, only where that is exact: exp(1e-300) is no 1,
/// which rules and other constants would take it for, and cosh(25) no sinh(25). Nothing where that cannot be had: what
/// underflows or overflows, what is rounded to a number of few bits, what cancels the digits of rounded numbers, and
/// functions where doubles do not tell them from their operand, a limit or one another.
[[nodiscard]] std::optional<double> fold(const Node& n, double a, double b, double c);

}  // namespace trident::expr::rewrite
