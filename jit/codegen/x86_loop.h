// The x86-64 emitter: kir to a whole kernel.
#pragma once

#include "jit/codegen/codegen.h"

namespace trident::codegen {

/// Does as codegen::emit, for Isa::avx2 and Isa::avx512.
Result<MachineCode> emit_x86(const kir::Kernel& kernel, Isa isa, const Variant& variant);

}  // namespace trident::codegen
