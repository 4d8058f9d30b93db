// The frame of a kernel on x86-64: the floating-point environment that it runs in, saved registers, room on the stack.
// x86_loop.cpp says where its parts stand.
#pragma once

#include <cstdint>

#include "jit/codegen/unwind.h"
#include "jit/codegen/x86_emit.h"

namespace trident::codegen {

class X86Frame {
 public:
  X86Frame(X86Emitter& emitter, UnwindWriter& unwind) : emitter_(emitter), unwind_(unwind) {}

  /// Emits a branch to change_environment() where the environment is not the standard one. MXCSR belongs to the caller:
  /// in another one the kernel would round, flush or trap differently. A caller with the standard one pays a store and
  /// a branch that is never taken.
  void look_at_environment();
  /// Emits a call of all that follows look_at_environment(), in the standard environment: no other block has to know.
  void change_environment();
  /// Emits the saving of registers, and room for `bytes` on the stack.
  void make(std::uint32_t bytes);
  /// Emits the return.
  void leave();

 private:
  void push(std::uint8_t reg);
  void lower_stack(std::uint32_t bytes);

  X86Emitter& emitter_;
  UnwindWriter& unwind_;
  asmjit::Label standard_environment_, other_environment_;
  std::uint32_t bytes_ = 0;
  std::uint32_t below_ = 8;  ///< bytes between the caller's stack and the stack pointer
};

}  // namespace trident::codegen
