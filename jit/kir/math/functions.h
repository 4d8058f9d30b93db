// The expansions by theme; math.cpp chooses among them. `x` has the type of the expansion, its range is what is known.
#pragma once

#include "jit/kir/math/expansion.h"

namespace trident::kir::math {

Value emit_exp(Expansion& e, Value x, const Range& range);
Value emit_exp2(Expansion& e, Value x, const Range& range);
Value emit_log(Expansion& e, Value x, const Range& range);
Value emit_log2(Expansion& e, Value x, const Range& range);
Value emit_log10(Expansion& e, Value x, const Range& range);
Value emit_log1p(Expansion& e, Value x, const Range& range);
Value emit_sin(Expansion& e, Value x, const Range& range);
Value emit_cos(Expansion& e, Value x, const Range& range);

}  // namespace trident::kir::math
