// Quotients of general registers on x86-64. All of them use rax and rdx.
#pragma once

#include <asmjit/x86.h>

#include <cstdint>

namespace trident::codegen {

/// Emits def = x / b; 0 by 0, and by -1 the least integer is itself.
void divide_signed(asmjit::x86::Assembler& a, const asmjit::x86::Gp& def, const asmjit::x86::Gp& x,
                   const asmjit::x86::Gp& b);
/// Emits def = x / b without signs; 0 by 0.
void divide_unsigned(asmjit::x86::Assembler& a, const asmjit::x86::Gp& def, const asmjit::x86::Gp& x,
                     const asmjit::x86::Gp& b);
/// Emits def = x / by, 64 bits, without the divider; `by` is none of -1, 0 and 1.
void divide_signed(asmjit::x86::Assembler& a, const asmjit::x86::Gp& def, const asmjit::x86::Gp& x, std::uint64_t by);
/// Does so without signs; `by` is at least 2.
void divide_unsigned(asmjit::x86::Assembler& a, const asmjit::x86::Gp& def, const asmjit::x86::Gp& x, std::uint64_t by);

}  // namespace trident::codegen
