// The AArch64 emitter: kir to a whole kernel.
#pragma once

#include "jit/codegen/codegen.h"

namespace trident::codegen {

/// Does as codegen::emit, for Isa::neon.
Result<MachineCode> emit_a64(const kir::Kernel& kernel, const Variant& variant);

}  // namespace trident::codegen
