// Derivatives as a textbook's rules give them, with nothing simplified: the yardstick that costs of derivatives are
// measured against. Never computed with.
#pragma once

#include "jit/expr/expr.h"

namespace trident::cli {

/// `source` with each Diff node replaced. Ops that the textbook's table lacks are left to
/// expr::eliminate_derivatives().
Result<expr::Expr> textbook_derivatives(const expr::Expr& source);

}  // namespace trident::cli
