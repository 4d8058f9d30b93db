// Ranges that inputs were seen in, made few and wide, so that kernels are shared and a stray value rarely misses: ends
// are powers of two with a margin (but for 1), the sign is kept, and what has both signs becomes symmetric, which is
// one comparison. An exponent that was one number in all calls is assumed to be that. Positive floats that go on
// towards zero are assumed not to reach it, unless they were seen there. NaN is assumed to come again
// where it was seen, and not to come elsewhere.
#pragma once

#include <span>
#include <vector>

#include "jit/expr/expr.h"
#include "jit/kir/guard.h"

namespace trident::pipeline {

/// Returns Target::assumed for the variables of `expr`, from the least and greatest values seen of each; anything where
/// these are not finite, for tables, and for variables without a value. Empty if all may be anything.
std::vector<kir::Assumed> widened(const expr::Expr& expr, std::span<const kir::Assumed> seen);

}  // namespace trident::pipeline
