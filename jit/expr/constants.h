// Literal subexpressions in high precision: sqrt(2 * pi) is computed in long double throughout and rounded once.
#pragma once

#include <optional>

#include "jit/expr/expr.h"

namespace trident::expr {

/// Per node: its value when it is a float made of literals only and the value is finite. Functions of two arguments
/// that are undefined there, comparisons and reductions have none.
std::vector<std::optional<long double>> literal_values(const Expr& expr);

/// `value` rounded to the nearest value of `type`.
double round_to(Type type, long double value);

/// Returns whether x is a power of two or minus one: a factor that changes no significand.
bool is_power_of_two(double x);

}  // namespace trident::expr
