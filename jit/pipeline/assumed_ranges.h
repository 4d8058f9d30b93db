// Ranges that are assumed and not promised: the expression within them, and the guard that tests them.
#pragma once

#include <span>

#include "jit/expr/expr.h"
#include "jit/kir/guard.h"
#include "runtime/base/result.h"

namespace trident::pipeline {

/// Returns `expr` with the assumed ranges, by variable, where they narrow the declared ones. Where none is declared,
/// NaN is among the values if that is assumed. A variable that is assumed to be one number, and never NaN, becomes that
/// constant wherever it is read.
expr::Expr narrowed(const expr::Expr& expr, std::span<const kir::Assumed> assumed);

/// Takes back the ranges of variables that neither kernel of `expr` reads: any value fits. `narrow` is narrowed().
expr::Expr without_unread(const expr::Expr& expr, expr::Expr narrow, const kir::Kernel& a, const kir::Kernel& b);

/// Returns a kernel that reads the elements of a call and computes nothing; a guard gives it its use.
kir::Kernel scan_for(const kir::Kernel& kernel);

/// Adds an exit where a variable lies outside a range that `narrow` has and `expr` has not. Errors: Unsupported where
/// there is none.
Result<void> add_guard(kir::Kernel& kernel, const expr::Expr& expr, const expr::Expr& narrow);

}  // namespace trident::pipeline
