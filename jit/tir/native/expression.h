// A translated block as the text of an expression, which any client of Trident can submit (clients/c/trident.h): it is
// answered by the interpreter at once, compiled, checked and swapped in like every other expression.
#pragma once

#include <string>

#include "jit/tir/native/translate.h"

namespace trident::tir::native {

/// In infix form: arrays in the order of `reads`, outputs in the order of `writes`, then "failed"; all of i64. Submit
/// it with policy exact. What an expression may be is bounded (limits::kExprNodesMax): a product of the field takes
/// some thirty nodes, an inverse 1,800.
std::string expression_of(const Translation& translation);

}  // namespace trident::tir::native
