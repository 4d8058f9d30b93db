// The expansions by theme; math.cpp chooses among them. `x` has the type of the expansion and lies in its range.
#pragma once

#include "jit/kir/math/expansion.h"

namespace trident::kir::math {

Value emit_exp(Expansion& e, Value x, const Range& range);
Value emit_exp2(Expansion& e, Value x, const Range& range);
Value emit_log(Expansion& e, Value x, const Range& range);
Value emit_log2(Expansion& e, Value x, const Range& range);
Value emit_log10(Expansion& e, Value x, const Range& range);
Value emit_log1p(Expansion& e, Value x, const Range& range);
Value emit_tan(Expansion& e, Value x, const Range& range);
Value emit_sinh(Expansion& e, Value x, const Range& range);
Value emit_cosh(Expansion& e, Value x, const Range& range);
Value emit_tanh(Expansion& e, Value x, const Range& range);
Value emit_expm1(Expansion& e, Value x, const Range& range);
Value emit_sin(Expansion& e, Value x, const Range& range);
Value emit_cos(Expansion& e, Value x, const Range& range);
Value emit_asin(Expansion& e, Value x, const Range& range);
Value emit_acos(Expansion& e, Value x, const Range& range);
Value emit_atan(Expansion& e, Value x, const Range& range);
Value emit_atan2(Expansion& e, Value y, Value x, const Range& y_range, const Range& x_range);
Value emit_asinh(Expansion& e, Value x, const Range& range);
Value emit_acosh(Expansion& e, Value x, const Range& range);
Value emit_atanh(Expansion& e, Value x, const Range& range);
Value emit_pow(Expansion& e, Value x, Value y, const Range& x_range, const Range& y_range);
Value emit_rsqrt(Expansion& e, Value x, const Range& range);
Value emit_cbrt(Expansion& e, Value x, const Range& range);
Value emit_hypot(Expansion& e, Value x, Value y, const Range& x_range, const Range& y_range);
Value emit_erf(Expansion& e, Value x, const Range& range);
Value emit_erfc(Expansion& e, Value x, const Range& range);
Value emit_round(Expansion& e, Value x);
Value emit_fmod(Expansion& e, Value x, Value y, const Range& x_range, const Range& y_range);

}  // namespace trident::kir::math
