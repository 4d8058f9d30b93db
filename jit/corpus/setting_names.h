// Settings of a kernel by the names that users write: type, policy, instruction set, syntax.
#pragma once

#include <string>

#include "jit/codegen/codegen.h"
#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::corpus {

/// "f32" or "f64".
Result<ir::Type> parse_float_type(const std::string& text);
/// "exact", "bounded", "bounded:3", "fast".
Result<expr::Policy> parse_policy(const std::string& text);
/// "auto" is the best that this processor has; Unsupported for one that it lacks.
Result<codegen::Isa> parse_isa(const std::string& text);
/// "exact", "bounded(2)", "fast".
std::string policy_name(const expr::Policy& policy);

/// A text in a syntax by name: auto, infix, sexpr, fpcore.
Result<expr::Expr> parse_in_syntax(const std::string& text, const std::string& syntax,
                                   const expr::ParseOptions& options);
/// Gives the variables of `options`, whose source has names and ranges only, the types that the text declares.
void take_declared_types(const std::string& text, const std::string& syntax, expr::ParseOptions& options);

}  // namespace trident::corpus
