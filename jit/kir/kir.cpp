#include "jit/kir/kir.h"

#include <array>

namespace trident::kir {

const OpInfo& info(Op op) {
  static constexpr std::array<OpInfo, kOpCount> kTable = {{
#define X(id, Name, text, arity, signature, types, meaning) \
  {text, arity, Signature::signature, Types::types, meaning},
#include "jit/kir/ops.def"
#undef X
  }};
  return kTable[static_cast<std::size_t>(op)];
}

}  // namespace trident::kir
