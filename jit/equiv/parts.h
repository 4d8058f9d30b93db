// Is a form as careful as its source where no drawn point goes? A part that works in a rare region only (behind a mask,
// beyond a clamp, near the common zero of many squares) shows nothing at points drawn in all variables at once. So the
// form is also compared part by part: what both compute alike becomes a variable of its own, drawn from the interval
// that is known of it, and what stands above it must keep the policy there too.
//
//   source   (k == 7) * (expm1(x) / x) + y * exp(x)        ->   p1 * (expm1(x) / x) + y * exp(x)
//   form     (k == 7) * ((exp(x) - 1) / x) + y * exp(x)    ->   p1 * ((exp(x) - 1) / x) + y * exp(x), which differs
//
// A value of the form is "alike" one of the source when it is made in the same way from values that are alike, or when
// both are equal at drawn points and the check of that part alone says that they are the same. What is equal but less
// careful is no variable: it stays in what is above it, where it may not matter.
//
// Parts that keep the policy may break it together, near a pole above them. Of outputs that are an element's own the
// check of the whole form sees that (tail.h); of those that depend on a reduction, and of what goes into one, this one.
//
// That asks more than the policy: a guard that keeps a careless part from ever being computed does not excuse it.
#pragma once

#include "jit/equiv/checker.h"
#include "jit/expr/expr.h"

namespace trident::equiv {

/// Whether `form`, lowered as `how` says, is as careful as `source` in all its parts. Both have passed check(), have no
/// Diff, and the same variables and outputs; that they mean the same at drawn points is settled elsewhere. Of `options`
/// the number of points is not used. Nothing but "sampled" and "differs" is answered; under the exact policy, where
/// forms have the source's bits, always the former.
Result<Verdict> check_parts(const expr::Expr& source, const expr::Expr& form, const expr::LowerOptions& how,
                            const CheckOptions& options);

}  // namespace trident::equiv
