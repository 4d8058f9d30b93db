#include "jit/expr/expr.h"

namespace trident::expr {

// Ids are positions in the table of info().
#define X(id, Name, ...) static_assert(static_cast<std::uint32_t>(Op::Name) < kOpCount);
#include "jit/expr/ops.def"
#undef X

std::vector<Variable> parameters_of(const std::vector<Variable>& variables) {
  std::vector<Variable> parameters;
  for (const Variable& v : variables)
    if (v.is_scalar()) parameters.push_back(v);
  for (const Variable& v : variables) {
    if (!v.is_table()) continue;
    Variable& length = parameters.emplace_back();
    length.name = v.name + std::string(kLengthSuffix);
    length.type = Type::i64;
    length.kind = VariableKind::scalar;
  }
  return parameters;
}

}  // namespace trident::expr
