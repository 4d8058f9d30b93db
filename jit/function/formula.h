// Functions that the language takes from expressions, as operations of regions. The kernel of an expression under the
// exact policy is straight-line code of few ops; one lane of it is written out. So bits are those of expressions, and
// the interpreter of regions and machine code agree because each op does.
#pragma once

#include <span>

#include "jit/expr/expr.h"
#include "jit/function/function.h"
#include "jit/region/builder.h"

namespace trident::function {

/// Returns the expression that a checked call of a function of formulas.def, or a power, stands for. Its variables are
/// the operands; a literal exponent is none.
expr::Expr meaning_of(const Expression& e);

/// Appends the instructions that compute `meaning` of values, one for each variable.
region::Value append_formula(region::Builder& build, const expr::Expr& meaning,
                             std::span<const region::Value> operands);

}  // namespace trident::function
