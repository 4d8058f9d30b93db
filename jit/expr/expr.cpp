#include "jit/expr/expr.h"

namespace trident::expr {

// Ids are positions in the table of info().
#define X(id, Name, text, arity, signature, types, meaning) \
  static_assert(static_cast<std::uint32_t>(Op::Name) < kOpCount);
#include "jit/expr/ops.def"
#undef X

}  // namespace trident::expr
