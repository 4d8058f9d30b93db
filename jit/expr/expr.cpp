#include "jit/expr/expr.h"

namespace trident::expr {

const OpInfo& info(Op op) {
  static constexpr std::array<OpInfo, kOpCount> kTable = {{
#define X(id, Name, text, arity, signature, types, meaning) {text, arity, Signature::signature, Types::types, meaning},
#include "jit/expr/ops.def"
#undef X
  }};
  return kTable[static_cast<std::size_t>(op)];
}

// Ids are positions in the table above.
#define X(id, Name, text, arity, signature, types, meaning) \
  static_assert(static_cast<std::uint32_t>(Op::Name) < kOpCount);
#include "jit/expr/ops.def"
#undef X

}  // namespace trident::expr
