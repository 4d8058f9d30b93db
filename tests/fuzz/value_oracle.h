// The demand of a fuzz target on accepted input, beyond "no crash": the right value.
//
//   code     the baseline machine code of every instruction set of this machine gives the interpreter's bits
//   meaning  the interpreter is as near to MPFR as a plain evaluation over libm, within a factor
//
// Both on the kernel that clients get first, the unrewritten one. Rewritten ones go out only after their own check.
#pragma once

#include <cstdint>
#include <string>

#include "jit/expr/expr.h"
#include "jit/image/image.h"

namespace trident::fuzz {

/// How machine code differs from the interpreter on inputs that keep the declared ranges; empty when it does not.
std::string difference_from_interpreter(const expr::Expr& expr, const kir::Kernel& kernel, const image::Mapped& native,
                                        std::uint64_t seed);

/// Checks the baseline variant on every instruction set of this machine. Ends the process with the expression and the
/// values on a difference.
void check_code(const expr::Expr& expr, const kir::Kernel& kernel, std::uint64_t seed);

/// False when the expression has ops that have no value over the reals to compare with (integers, steps, reductions).
bool has_real_meaning(const expr::Expr& expr);
/// Checks expressions that have a meaning, at some hundred points. It takes milliseconds: for a sample of the inputs.
void check_meaning(const expr::Expr& expr, const kir::Kernel& kernel, std::uint64_t seed);

}  // namespace trident::fuzz
