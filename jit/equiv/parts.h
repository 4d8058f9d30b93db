// Is a form as careful as its source in regions that no drawn point reaches? A part that works in a rare region only
// (behind a mask, beyond a clamp, near the common zero of many squares) shows nothing at points drawn in all variables
// at once. So the form is also compared part by part. A value that both compute alike becomes a variable, drawn from
// its known interval, and the part above it must keep the policy there too.
//
//   source   (k == 7) * (expm1(x) / x) + y * exp(x)        ->   p1 * (expm1(x) / x) + y * exp(x)
//   form     (k == 7) * ((exp(x) - 1) / x) + y * exp(x)    ->   p1 * ((exp(x) - 1) / x) + y * exp(x), which differs
//
// A value of the form is "alike" one of the source when it is made in the same way from alike values, or when both are
// equal at drawn points and the check of that part alone calls them the same. A value that is equal but less careful
// does not become a variable: it stays in the part above it, where it may not matter.
//
// The parts' running errors add up to the whole's, since the source carries an error that a part may have in the same
// way (running_error.h). The policy's 2 ulp do not: every part may take them at its end, the whole once. So parts that
// each keep the policy may break it together. For outputs of elements the check of the whole form at drawn points and
// beyond (tail.h) sees that, however large the form is; for outputs that depend on a reduction, and for operands of
// one, this check does.
//
// This asks more than the policy: a guard that keeps a careless part from ever being computed does not excuse it.
#pragma once

#include "jit/equiv/checker.h"
#include "jit/expr/expr.h"

namespace trident::equiv {

/// Checks whether `form`, lowered as `how` says, is as careful as `source` in all its parts. Both have passed check(),
/// have no Diff, and the same variables and outputs; another check covers drawn points. Ignores the number of points in
/// `options`. Answers only "sampled" or "differs"; under the exact policy, where forms have the source's bits, always
/// "sampled".
Result<Verdict> check_parts(const expr::Expr& source, const expr::Expr& form, const expr::LowerOptions& how,
                            const CheckOptions& options);

}  // namespace trident::equiv
