// The frame of a kernel on x86-64: the floating-point environment that it runs in, saved registers, room on the stack.
// x86_loop.cpp says where its parts stand.
#pragma once

#include <cstdint>

#include "jit/codegen/unwind.h"
#include "jit/codegen/x86_emit.h"

namespace trident::codegen {

/// A caller's floating-point environment, and the standard one. MXCSR belongs to the caller: in another one the code
/// would round, flush or trap differently.
class X86Environment {
 public:
  X86Environment(X86Writer& writer, UnwindWriter& unwind) : writer_(writer), unwind_(unwind) {}

  /// Emits a branch to change() where the environment is not the standard one. A caller with the standard one pays a
  /// store and a branch that is never taken. rax is lost.
  void look();
  /// Does as look() for code whose instructions all round by themselves (x86_form::kOwnRounding). It needs no slow read
  /// of MXCSR: only what becomes of subnormals matters, and a sum of two shows it.
  void look_at_subnormals(ConstantPool& pool);
  /// Emits a call of all that follows look(), in the standard environment: no other code has to know.
  void change();

 private:
  X86Writer& writer_;
  UnwindWriter& unwind_;
  asmjit::Label standard_, other_;
  bool is_noted_ = false;  ///< the caller's MXCSR is in its place when control comes to change()
};

class X86Frame {
 public:
  X86Frame(X86Emitter& emitter, UnwindWriter& unwind) : emitter_(emitter), unwind_(unwind) {}

  /// Emits the saving of registers, and room for `bytes` on the stack.
  void make(std::uint32_t bytes);
  /// Emits the return.
  void leave();

 private:
  void push(std::uint8_t reg);
  void lower_stack(std::uint32_t bytes);

  X86Emitter& emitter_;
  UnwindWriter& unwind_;
  std::uint32_t bytes_ = 0;
  std::uint32_t below_ = 8;  ///< bytes between the caller's stack and the stack pointer
};

}  // namespace trident::codegen
