#include "jit/codegen/x86_frame.h"

#include <algorithm>
#include <bit>

#include "runtime/base/float_environment.h"
#include "runtime/base/limits.h"

namespace trident::codegen {

namespace x86 = asmjit::x86;

namespace {

constexpr std::int32_t kMxcsrFound = -4;  // from the stack pointer on entry: where the caller's MXCSR is kept
constexpr int kMxcsrFlagBits = 6;         // below the controls
constexpr std::uint8_t kBytes = 24;       // of the part that change() calls: its stack is aligned as any function's

// Every kernel has these instructions, and asmjit would take longer for them than for much of its loop.

constexpr std::uint8_t kControls[] = {
    0xC5,
    0xF8,
    0xAE,
    0x5C,
    0x24,
    static_cast<std::uint8_t>(kMxcsrFound),  // vstmxcsr [rsp + found]
    0x0F,
    0xB7,
    0x44,
    0x24,
    static_cast<std::uint8_t>(kMxcsrFound),  // movzx eax, word ptr [rsp + found]
    0xC1,
    0xE8,
    kMxcsrFlagBits,  // shr eax, flags
    0x83,
    0xF8,
    kStandardMxcsr >> kMxcsrFlagBits,  // cmp eax, standard
};
static_assert(kStandardMxcsr >> kMxcsrFlagBits < 0x80 && kStandardMxcsr < 0x10000);

constexpr std::uint8_t kLowerStack[] = {0x48, 0x83, 0xEC, kBytes};  // sub rsp, bytes
constexpr std::uint8_t kSetStandard[] = {
    0xC7,
    0x04,
    0x24,
    kStandardMxcsr & 0xFF,
    kStandardMxcsr >> 8,
    0,
    0,  // mov dword ptr [rsp], standard
    0xC5,
    0xF8,
    0xAE,
    0x14,
    0x24,  // vldmxcsr [rsp]
};
constexpr std::uint8_t kRestore[] = {
    0xC5, 0xF8, 0xAE, 0x54,   0x24, kBytes + kMxcsrFound,  // vldmxcsr [rsp + bytes + found]
    0x48, 0x83, 0xC4, kBytes,                              // add rsp, bytes
};

}  // namespace

void X86Environment::look() {
  static_assert(kMxcsrControls >> 16 == 0 && std::countr_zero(kMxcsrControls) == kMxcsrFlagBits);
  x86::Assembler& a = writer_.assembler();
  other_ = a.newLabel();
  standard_ = a.newLabel();
  is_noted_ = true;
  a.embed(kControls, sizeof kControls);
  a.jne(other_);
  a.bind(standard_);
}

void X86Environment::look_at_subnormals(ConstantPool& pool) {
  constexpr std::uint64_t kSubnormal = std::uint64_t{1} << 32;
  const x86::Xmm sum(x86_allocated::kVectorScratch);
  x86::Assembler& a = writer_.assembler();
  other_ = a.newLabel();
  standard_ = a.newLabel();
  a.vmovsd(sum, writer_.pool_operand(pool.add_repeated(kSubnormal, 8, 1)));
  writer_.note_pool_use(0);
  a.rn_sae().vaddsd(sum, sum, sum);
  a.vmovq(x86::rax, sum);
  a.test(x86::rax, x86::rax);
  a.jz(other_);
  a.bind(standard_);
}

void X86Environment::change() {
  x86::Assembler& a = writer_.assembler();
  a.bind(other_);
  if (!is_noted_) a.vstmxcsr(x86::dword_ptr(x86::rsp, kMxcsrFound));
  a.embed(kLowerStack, sizeof kLowerStack);
  unwind_.def_cfa(writer_.offset(), x86_gpr::kDwarfStack, 8 + kBytes);
  a.embed(kSetStandard, sizeof kSetStandard);
  a.call(standard_);
  a.embed(kRestore, sizeof kRestore);
  unwind_.def_cfa(writer_.offset(), x86_gpr::kDwarfStack, 8);
  a.ret();
}

void X86Frame::push(std::uint8_t reg) {
  emitter_.assembler().push(x86::gpq(reg));
  below_ += 8;
  if (bytes_ == 0 || reg == x86_gpr::kFrame) unwind_.def_cfa(emitter_.offset(), x86_gpr::kDwarfStack, below_);
  unwind_.saved(emitter_.offset(), x86_gpr::dwarf(reg), below_);
}

void X86Frame::make(std::uint32_t bytes) {
  bytes_ = bytes;
  if (bytes != 0) {
    push(x86_gpr::kFrame);
    emitter_.assembler().mov(x86::rbp, x86::rsp);
    unwind_.def_cfa(emitter_.offset(), x86_gpr::dwarf(x86_gpr::kFrame), below_);
  }
  for (const std::uint8_t reg : emitter_.saved_registers()) push(reg);
  if (bytes != 0) lower_stack(bytes);
}

/// Lowers the stack pointer. Beyond one page it touches every page on the way, so that a stack that is too small faults
/// on its guard page and not beyond it.
void X86Frame::lower_stack(std::uint32_t bytes) {
  x86::Assembler& a = emitter_.assembler();
  constexpr std::uint32_t kAlign = 64;
  while (bytes + kAlign > limits::kStackPageBytes) {
    const std::uint32_t step = std::min(bytes, limits::kStackPageBytes);
    a.sub(x86::rsp, step);
    a.or_(x86::dword_ptr(x86::rsp), 0);
    bytes -= step;
  }
  if (bytes != 0) a.sub(x86::rsp, bytes);
  a.and_(x86::rsp, -std::int32_t{kAlign});
}

void X86Frame::leave() {
  x86::Assembler& a = emitter_.assembler();
  const auto saved = emitter_.saved_registers();
  if (bytes_ != 0) a.lea(x86::rsp, x86::ptr(x86::rbp, -static_cast<std::int32_t>(8 * saved.size())));
  for (std::size_t i = saved.size(); i-- > 0;) {
    a.pop(x86::gpq(saved[i]));
    below_ -= 8;
    unwind_.restored(emitter_.offset(), x86_gpr::dwarf(saved[i]));
    if (bytes_ == 0) unwind_.def_cfa(emitter_.offset(), x86_gpr::kDwarfStack, below_);
  }
  if (bytes_ != 0) {
    a.pop(x86::rbp);
    unwind_.restored(emitter_.offset(), x86_gpr::dwarf(x86_gpr::kFrame));
    unwind_.def_cfa(emitter_.offset(), x86_gpr::kDwarfStack, 8);
  }
  a.vzeroupper();
  a.ret();
}

}  // namespace trident::codegen
