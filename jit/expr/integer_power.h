// Powers of integers with an exponent that is no literal, written out as products.
#pragma once

#include "jit/expr/composer.h"

namespace trident::expr {

/// a^b of two integers of one type: exact, and wraps as products do. For b < 0 the integer part of the real power: 1 or
/// -1 for a of 1 and -1, else 0 (for a of 0 too, which has no such power). Squares once per bit of the exponent.
Value integer_power(Composer& composer, Value a, Value b, std::size_t offset);

}  // namespace trident::expr
