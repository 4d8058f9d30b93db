// Says which kernels depend on the floating-point environment of their caller.
#pragma once

#include <algorithm>
#include <array>

#include "jit/kir/kir.h"

namespace trident::codegen {

/// Ops that only move bits, or flip one, even of floats.
inline constexpr std::array kMoves = {kir::Op::Constant, kir::Op::Input,  kir::Op::Param,  kir::Op::Neg,
                                      kir::Op::Abs,      kir::Op::Select, kir::Op::Lookup, kir::Op::Gather,
                                      kir::Op::Strided,  kir::Op::Bitcast};

/// True if the kernel computes with floats: then its bits depend on rounding mode and subnormals, and it may trap.
inline bool uses_floats(const kir::Kernel& kernel) {
  return std::any_of(kernel.insts.begin(), kernel.insts.end(), [&](const kir::Inst& inst) {
    const bool takes = inst.a.valid() && ir::is_float(kernel.type_of(inst.a));
    const bool moves = std::find(kMoves.begin(), kMoves.end(), inst.op) != kMoves.end();
    return !moves && (takes || ir::is_float(inst.type));
  });
}

}  // namespace trident::codegen
