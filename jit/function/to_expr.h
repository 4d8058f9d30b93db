// Functions without loops as expressions (jit/expr): every path is computed, and selects choose.
#pragma once

#include <optional>

#include "jit/expr/expr.h"
#include "jit/function/lower.h"

namespace trident::function {

/// Returns what `function` gives for each element of its parameters, which become arrays of i64 or f64; a truth is 0
/// or 1. Under policy exact the bits are the function's, but any NaN stands for any other. Returns nothing for a
/// function with loops, arrays, a way to fail, or an operation that expressions lack. `lowered` is lower()'s.
std::optional<expr::Expr> to_expr(const Function& function, const Lowered& lowered);

}  // namespace trident::function
