// Integer and bit-level meaning of expr: wrapping arithmetic, conversions, loads. Values of every integer type and of
// bool (0 or -1) travel sign-extended in int64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jit/expr/expr.h"

namespace trident::equiv {

double load_float(expr::Type type, const std::byte* bytes);
std::int64_t load_integer(expr::Type type, const std::byte* bytes);

/// Converts `value` to `type`: wraps for i32, 0 or -1 for masks.
std::int64_t wrap(expr::Type type, std::int64_t value);
/// Casts from integer or bool `from` to integer or bool `to`.
std::int64_t cast_integer(expr::Type to, expr::Type from, std::int64_t value);
/// Casts from a float: truncates; NaN and values out of range give the least integer of `to`.
std::int64_t truncate(expr::Type to, long double value);
/// Rounds `value` to f32 or f64.
double int_to_float(expr::Type type, std::int64_t value);
/// Returns the greatest (true) or least (false) value of an integer type.
std::int64_t end_of_range(expr::Type type, bool greatest);

/// Holds every sum and product of two 64-bit integers.
__extension__ using Wide = __int128;

/// Evaluates integer or bool ops of signature Same, before the result wraps. Powers and shifts wrap at 64 bits.
Wide unwrapped(const expr::Node& node, std::int64_t a, std::int64_t b);
/// Evaluates integer or bool ops of signature Same.
std::int64_t apply_integer(const expr::Node& node, std::int64_t a, std::int64_t b);
/// Adds one more element to a partial result of a reduction, or combines two partial results.
std::int64_t combine_integer(const expr::Node& reduction, std::int64_t partial, std::int64_t a, std::int64_t b);
std::int64_t join_integer(const expr::Node& reduction, std::int64_t x, std::int64_t y);

}  // namespace trident::equiv
