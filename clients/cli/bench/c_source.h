// An expression as the C that a programmer would write for it: the benchmark's other side. One loop over restrict
// pointers, one local per node, the libm function of the type, literals of the type. Nothing in it helps or hinders an
// optimiser: whatever -O3 -ffast-math can find in the plain formula it can find here.
#pragma once

#include <string>

#include "jit/expr/expr.h"

namespace trident::cli {

/// The name of the function that c_source() defines, with the signature of trident_entry (schemas/kernel_image.h).
inline constexpr const char* kContestantSymbol = "trident_contestant";

/// A C11 translation unit. `expr` must have passed expr::check and hold no Diff.
std::string c_source(const expr::Expr& expr);

}  // namespace trident::cli
