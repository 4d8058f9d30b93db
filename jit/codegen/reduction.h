// Reductions as machine code has them: partial results in vectors (jit/kir/kir.h), whatever the host.
#pragma once

#include "jit/kir/kir.h"
#include "runtime/base/check.h"

namespace trident::codegen {

inline constexpr std::uint32_t kPartials = 16;  ///< of a reduction, see kir.h

inline bool is_reduction(const kir::Inst& inst) {
  return kir::info(inst.op).signature == kir::Signature::Reduce;
}

/// Returns the bits of the value that a partial result starts from: 0, or a value that every number replaces.
inline std::uint64_t start_bits(kir::Op op, ir::Type type) {
  const bool least = op == kir::Op::MaxOf;
  if (op == kir::Op::Sum) return 0;
  switch (type) {
    case ir::Type::f32: return least ? 0xFF80'0000u : 0x7F80'0000u;
    case ir::Type::f64: return least ? 0xFFF0'0000'0000'0000u : 0x7FF0'0000'0000'0000u;
    case ir::Type::i32: return least ? 0x8000'0000u : 0x7FFF'FFFFu;
    case ir::Type::i64: return least ? 0x8000'0000'0000'0000u : 0x7FFF'FFFF'FFFF'FFFFu;
    case ir::Type::b32:
    case ir::Type::b64: break;
  }
  CHECK(false);
}

}  // namespace trident::codegen
