// Emits the instructions that x86_tables.cpp selects. Scratch registers: r11 everywhere, rdi before the loops.
#include <bit>

#include "jit/codegen/x86_emit.h"
#include "runtime/base/check.h"

namespace trident::codegen {

using asmjit::imm;
using asmjit::Operand;
namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;

namespace {

std::uint32_t shift_of(std::uint8_t lane_bytes) {
  return static_cast<std::uint32_t>(std::countr_zero(lane_bytes));
}

}  // namespace

/// Puts the loop's index into all lanes.
void X86Emitter::position(const MInst& m, const Placed& p) {
  const bool narrow = f_[m.def].lane_bytes == 4;
  const Operand def = register_operand(RegClass::vector, m.def_width, p.def);
  const std::uint32_t id = narrow ? Inst::kIdVpbroadcastd : Inst::kIdVpbroadcastq;
  if (target_.avx512) {
    if (narrow)
      emit(id, {def, x86::eax});
    else
      emit(id, {def, x86::rax});
    return;
  }
  const x86::Xmm low(p.def);
  if (narrow)
    emit(Inst::kIdVmovd, {low, x86::eax});
  else
    emit(Inst::kIdVmovq, {low, x86::rax});
  emit(id, {def, low});
}

void X86Emitter::ones(RegClass reg_class, std::uint8_t width, std::uint8_t reg) {
  const Operand def = register_operand(reg_class, width, reg);
  if (reg_class == RegClass::mask)
    emit(Inst::kIdKxnorw, {def, def, def});
  else
    emit(Inst::kIdVpcmpeqd, {def, def, def});
}

/// Sets r11 to the length in parameter `param`, 0 for a negative one; rdi to 0.
void X86Emitter::clamped_length(std::uint32_t param) {
  assembler_.xor_(x86::edi, x86::edi);
  assembler_.mov(x86::r11, x86::qword_ptr(x86::gpq(x86_gpr::kParams), static_cast<std::int32_t>(8 * param)));
  assembler_.test(x86::r11, x86::r11);
  assembler_.cmovs(x86::r11, x86::rdi);
}

void X86Emitter::table_bound(const MInst& m, const Placed& p) {
  clamped_length(static_cast<std::uint32_t>(m.imm));
  const bool narrow = f_[m.def].lane_bytes == 4;
  if (!target_.avx512) assembler_.dec(x86::r11);
  if (narrow) {
    // 2^31 as an unsigned length, 2^31 - 1 as a signed last index: no index of 32 bits lies beyond.
    assembler_.mov(x86::edi, target_.avx512 ? 0x8000'0000u : 0x7FFF'FFFFu);
    assembler_.cmp(x86::r11, x86::rdi);
    assembler_.cmovg(x86::r11, x86::rdi);
  }
  const Operand def = register_operand(RegClass::vector, m.def_width, p.def);
  if (target_.avx512) {
    if (narrow)
      emit(Inst::kIdVpbroadcastd, {def, x86::r11d});
    else
      emit(Inst::kIdVpbroadcastq, {def, x86::r11});
    return;
  }
  const x86::Xmm low(p.def);
  emit(Inst::kIdVmovq, {low, x86::r11});
  emit(narrow ? Inst::kIdVpbroadcastd : Inst::kIdVpbroadcastq, {def, low});
}

void X86Emitter::gather(const MInst& m, const Placed& p) {
  const std::uint8_t lane_bytes = m.mem.lane_bytes;
  const bool wide_index = f_[m.use[0]].lane_bytes == 8;
  const std::uint32_t id = lane_bytes == 4 ? (wide_index ? Inst::kIdVgatherqps : Inst::kIdVgatherdps)
                                           : (wide_index ? Inst::kIdVgatherqpd : Inst::kIdVgatherdpd);
  x86::Mem mem = kernel_memory(m.mem, 0);  // for the pointer, which may have to be loaded
  mem.setIndex(register_operand(RegClass::vector, m.use_width, p.use[0]).as<x86::Vec>(), shift_of(lane_bytes));
  mem.setOffset(0);
  zero(p.def);
  const Operand def = register_operand(RegClass::vector, m.def_width, p.def);
  if (target_.avx512) {
    assembler_.setExtraReg(x86::KReg(p.use[1]));
    emit(id, {def, mem});
  } else {
    emit(id, {def, mem, register_operand(RegClass::vector, m.def_width, p.use[1])});
  }
}

// --- strided loads ---------------------------------------------------------------------------------------------------

x86::Mem X86Emitter::word(const MemRef& slot, std::int32_t disp) {
  return x86::qword_ptr(x86::rsp, slot.disp + disp);
}

/// Computes the bound: a vector lies inside if its lowest element has a number below it, unsigned.
void X86Emitter::table_limits(const MInst& m) {
  const X86StridedRead& read = strided_reads_[m.mem.index];
  const std::int64_t span = (read.stride < 0 ? -read.stride : read.stride) * (target_.lanes - 1);
  clamped_length(read.length_param);
  assembler_.mov(word(read.limits, X86StridedRead::kLength), x86::r11);
  assembler_.sub(x86::r11, span);
  assembler_.cmovs(x86::r11, x86::rdi);
  assembler_.mov(word(read.limits, X86StridedRead::kBound), x86::r11);
}

void X86Emitter::strided(const MInst& m, const Placed& p) {
  const X86StridedRead& read = strided_reads_[m.mem.index];
  const std::int64_t stride = read.stride;
  const auto fixed =
      static_cast<std::int32_t>(stride * m.mem.disp + read.lowest(target_.lanes) + read.offset.value_or(0));
  if (stride == 1) {
    assembler_.lea(x86::r11, x86::ptr(x86::rax, fixed));
  } else if (stride == 2 || stride == 4 || stride == 8) {
    assembler_.lea(
        x86::r11,
        x86::ptr(0u, x86::rax, static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint64_t>(stride)))));
    if (fixed != 0) assembler_.add(x86::r11, fixed);
  } else {
    assembler_.imul(x86::r11, x86::rax, stride);
    if (fixed != 0) assembler_.add(x86::r11, fixed);
  }
  if (!read.offset) assembler_.add(x86::r11, word(read.limits, X86StridedRead::kOffset));
  assembler_.cmp(x86::r11, word(read.limits, X86StridedRead::kBound));
  const StridedEdge edge{assembler_.newLabel(), assembler_.newLabel(), read, p.def, m.def_width};
  assembler_.jae(edge.entry);
  strided_inside(m, p, read);
  assembler_.bind(edge.back);
  strided_edges_.push_back(edge);
}

/// Loads from the lowest element on, whose number is in r11.
void X86Emitter::strided_inside(const MInst& m, const Placed& p, const X86StridedRead& read) {
  const std::uint8_t lane_bytes = read.lane_bytes, width = m.def_width;
  const bool narrow = lane_bytes == 4;
  const Operand def = register_operand(RegClass::vector, width, p.def);
  const Operand row = m.uses != 0 ? register_operand(RegClass::vector, width, p.use[0]) : Operand();
  const std::uint8_t pointer = pointer_of(Place::input, read.table);
  const bool gathers = read.form == StridedForm::gather;
  x86::Mem mem = x86::ptr(x86::r11);
  if (pointer == kNoReg) {
    assembler_.shl(x86::r11, shift_of(lane_bytes));
    assembler_.add(x86::r11, x86::qword_ptr(x86::gpq(x86_gpr::kInputs), 8 * read.table));
  } else if (gathers) {
    assembler_.lea(x86::r11, x86::ptr(x86::gpq(pointer), x86::r11, shift_of(lane_bytes)));
  } else {
    mem = x86::ptr(x86::gpq(pointer), x86::r11, shift_of(lane_bytes));
  }
  x86::Mem second = mem;  // of pairs
  second.addOffset(static_cast<std::int64_t>(target_.lanes - 1) * lane_bytes);
  switch (read.form) {
    case StridedForm::contiguous: emit(Inst::kIdVmovups, {def, mem}); return;
    case StridedForm::reversed:
      if (width == 16) return emit(Inst::kIdVpshufd, {def, mem, imm(0x1B)});
      if (m.uses == 0) return emit(Inst::kIdVpermpd, {def, mem, imm(0x1B)});
      return emit(narrow ? Inst::kIdVpermps : Inst::kIdVpermpd, {def, row, mem});
    case StridedForm::pairs:
      emit(Inst::kIdVmovups, {def, mem});
      if (m.uses != 0) return emit(narrow ? Inst::kIdVpermt2ps : Inst::kIdVpermt2pd, {def, row, second});
      // Within each 128-bit half: the even elements of the first load, then the odd ones of the second.
      emit(narrow ? Inst::kIdVshufps : Inst::kIdVshufpd, {def, def, second, imm(narrow ? 0xD8 : 0xA)});
      if (width == 32) emit(Inst::kIdVpermpd, {def, def, imm(0xD8)});
      return;
    case StridedForm::gather: {
      const auto row_width = static_cast<std::uint8_t>(f_[m.use[0]].width);
      mem.setIndex(register_operand(RegClass::vector, row_width, p.use[0]).as<x86::Vec>(), shift_of(lane_bytes));
      const std::uint32_t id = narrow ? Inst::kIdVgatherdps : Inst::kIdVgatherdpd;
      zero(p.def);
      ones(f_[m.use[1]].reg_class, width, p.use[1]);
      if (target_.avx512) {
        assembler_.setExtraReg(x86::KReg(p.use[1]));
        emit(id, {def, mem});
      } else {
        emit(id, {def, mem, register_operand(RegClass::vector, width, p.use[1])});
      }
      return;
    }
  }
}

/// Loads lane by lane through the frame; compares each element with the length. rdi and rsi may be in use and are kept
/// below the stack pointer (16 bytes further than streaming_loop's: nothing is called).
void X86Emitter::strided_edge(const StridedEdge& edge) {
  const X86StridedRead& read = edge.read;
  x86::Assembler& a = assembler_;
  const bool narrow = read.lane_bytes == 4;
  const std::uint32_t shift = shift_of(read.lane_bytes);
  const x86::Mem room = x86::ptr(x86::rsp, read.room.disp);
  const Operand def = register_operand(RegClass::vector, edge.width, edge.def);
  const x86::Mem saved_rdi = x86::qword_ptr(x86::rsp, -24), saved_rsi = x86::qword_ptr(x86::rsp, -32);
  const asmjit::Label top = a.newLabel(), next = a.newLabel();
  a.bind(edge.entry);
  a.mov(saved_rdi, x86::rdi);
  a.mov(saved_rsi, x86::rsi);
  if (const std::int64_t lowest = read.lowest(target_.lanes); lowest != 0) a.sub(x86::r11, lowest);
  zero(edge.def);
  emit(Inst::kIdVmovups, {room, def});
  a.xor_(x86::edi, x86::edi);
  a.bind(top);
  a.cmp(x86::r11, word(read.limits, X86StridedRead::kLength));
  a.jae(next);
  std::uint8_t pointer = pointer_of(Place::input, read.table);
  if (pointer == kNoReg) {
    pointer = x86_gpr::kCount;
    a.mov(x86::rsi, x86::qword_ptr(x86::gpq(x86_gpr::kInputs), 8 * read.table));
  }
  const x86::Mem from = x86::ptr(x86::gpq(pointer), x86::r11, shift);
  const x86::Mem to = x86::ptr(x86::rsp, x86::rdi, shift, read.room.disp);
  if (narrow) {
    a.mov(x86::esi, from);
    a.mov(to, x86::esi);
  } else {
    a.mov(x86::rsi, from);
    a.mov(to, x86::rsi);
  }
  a.bind(next);
  a.add(x86::r11, read.stride);
  a.inc(x86::edi);
  a.cmp(x86::edi, target_.lanes);
  a.jb(top);
  emit(Inst::kIdVmovups, {def, room});
  a.mov(x86::rsi, saved_rsi);
  a.mov(x86::rdi, saved_rdi);
  a.jmp(edge.back);
}

}  // namespace trident::codegen
