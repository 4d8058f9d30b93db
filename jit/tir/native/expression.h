// Prints a translated block as an expression that any client of Trident can submit (clients/c/trident.h): the
// interpreter answers at once, and it is compiled, checked and swapped in like every other expression.
#pragma once

#include <string>

#include "jit/tir/native/translate.h"

namespace trident::tir::native {

/// Returns infix text: arrays in the order of `reads`, outputs in the order of `writes`, then "failed"; all i64. Submit
/// it with policy exact. Expressions are limited (limits::kExprNodesMax): a product in the field takes
/// some thirty nodes, an inverse 1,800.
std::string expression_of(const Translation& translation);

}  // namespace trident::tir::native
