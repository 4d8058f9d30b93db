// The loop over chunks of kernels with reductions (jit/kir/reduction.h); x86_loop.cpp has what they share with others.
#include <bit>

#include "jit/codegen/x86_kernel.h"
#include "jit/kir/reduction.h"

namespace trident::codegen {

namespace {

namespace x86 = asmjit::x86;

constexpr auto kChunkElements = static_cast<std::int32_t>(kir::kChunk);
constexpr std::size_t kInstsThatWait = 128;  // in a step; a longer one waits for arithmetic, not for memory

}  // namespace

void X86KernelEmitter::chunks() {
  x86::Assembler& a = emitter_.assembler();
  const asmjit::Label chunk = a.newLabel(), rest = a.newLabel(), end = a.newLabel();
  const asmjit::Label last = a.newLabel(), done = a.newLabel();
  const bool by_columns = selector_.reducer().by_columns();
  a.mov(word(count_slot_), x86::rsi);
  a.xor_(x86::eax, x86::eax);
  a.bind(chunk);
  a.mov(word(chunk_slot_), x86::rax);
  a.lea(x86::rdi, x86::ptr(x86::rax, kChunkElements));
  a.cmp(x86::rdi, x86::rsi);
  a.cmovb(x86::rsi, x86::rdi);
  if (by_columns) {
    columns();
  } else {
    block(start_);
    main_loop_of_chunk();
  }
  count_main_loop();
  if (selector_.reducer().held_partials() != 0 && !by_columns) {
    a.cmp(x86::rax, x86::rsi);
    a.jne(rest);
    block(whole_end_);
    a.jmp(end);
  }
  a.bind(rest);
  if (!by_columns) block(parking_);
  if (vectors_ > 1) loop(rest_, target_.lanes, false);
  last_elements();
  block(chunk_end_);
  a.bind(end);
  a.mov(x86::r11, word(chunk_slot_));
  a.mov(x86::rsi, word(count_slot_));
  a.lea(x86::rax, x86::ptr(x86::r11, kChunkElements));
  a.shr(x86::r11, std::countr_zero(kir::kChunk));
  a.xor_(x86::edi, x86::edi);
  if (kernel_.leaves_chunks()) return end_or_leave(chunk, done);
  a.cmp(x86::rax, x86::rsi);
  a.jae(last);
  keep_tree();
  a.jmp(chunk);
  a.bind(last);
  join_all(done);
  a.bind(done);
}

void X86KernelEmitter::main_loop_of_chunk() {
  x86::Assembler& a = emitter_.assembler();
  const std::uint32_t step = vectors_ * target_.lanes, bytes = emitter_.fetched_bytes();
  const asmjit::Label near = a.newLabel(), end = a.newLabel();
  if (variant_.schedule && bytes != 0 && main_.placed.size() <= kInstsThatWait) {
    a.cmp(word(count_slot_), kFetchBytes / bytes);
    a.jb(near);
    fetches_ = true;
    loop(main_, step, false);
    fetches_ = false;
    a.jmp(end);
  }
  a.bind(near);
  loop(main_, step, false);
  a.bind(end);
}

void X86KernelEmitter::columns() {
  x86::Assembler& a = emitter_.assembler();
  const asmjit::Label column = a.newLabel(), near = a.newLabel(), out = a.newLabel();
  const std::uint32_t step = vectors_ * target_.lanes, row = selector_.reducer().row_elements();
  const auto lane_bytes = static_cast<std::uint32_t>(kir::kPartialBytes / row);
  a.xor_(x86::edi, x86::edi);
  a.bind(column);
  a.mov(word(column_slot_), x86::rdi);
  block(start_);
  a.mov(x86::rax, word(chunk_slot_));
  a.add(x86::rax, x86::rdi);
  a.lea(x86::rdi, x86::ptr(x86::rsi, x86::rdi, 0, -static_cast<std::int32_t>(row)));
  a.cmp(x86::rax, x86::rdi);
  a.jg(out);
  const auto rows = [&](bool fetches) {
    const asmjit::Label top = a.newLabel();
    a.align(asmjit::AlignMode::kCode, kLoopAlign);
    a.bind(top);
    if (fetches) emitter_.fetch_ahead(step);
    block(main_);
    a.add(x86::rax, row);
    a.cmp(x86::rax, x86::rdi);
    a.jle(top);
  };
  if (const std::uint32_t bytes = emitter_.fetched_bytes(); bytes != 0 && main_.placed.size() <= kInstsThatWait) {
    a.cmp(word(count_slot_), kFetchBytes / bytes);
    a.jb(near);
    rows(true);
    a.jmp(out);
  }
  a.bind(near);
  rows(false);
  a.bind(out);
  a.mov(x86::rdi, word(column_slot_));
  a.shl(x86::edi, static_cast<std::uint32_t>(std::countr_zero(lane_bytes)));
  block(parking_);
  a.mov(x86::rdi, word(column_slot_));
  a.add(x86::edi, step);
  a.cmp(x86::edi, row);
  a.jb(column);
  a.mov(x86::rax, x86::rsi);  // behind the last whole row; a chunk begins with a row
  a.and_(x86::rax, -static_cast<std::int32_t>(row));
}

void X86KernelEmitter::keep_tree() {
  x86::Assembler& a = emitter_.assembler();
  const asmjit::Label next = a.newLabel(), keep = a.newLabel();
  a.bind(next);
  a.shr(x86::r11, 1);
  a.jnc(keep);
  block(join_);
  a.add(x86::edi, X86Reducer::kTreeBytes);
  a.jmp(next);
  a.bind(keep);
  block(keep_);
}

void X86KernelEmitter::end_or_leave(const asmjit::Label& next, const asmjit::Label& done) {
  x86::Assembler& a = emitter_.assembler();
  const asmjit::Label first = a.newLabel();
  a.test(x86::r11, x86::r11);
  a.jz(first);
  block(join_);
  a.bind(first);
  a.cmp(x86::rax, x86::rsi);
  a.jae(done);
  block(decided_);
  block(keep_);
  a.jmp(next);
  a.bind(done);
  emitter_.bind_exit();
}

void X86KernelEmitter::join_all(const asmjit::Label& done) {
  x86::Assembler& a = emitter_.assembler();
  const asmjit::Label next = a.newLabel(), none = a.newLabel();
  a.bind(next);
  a.test(x86::r11, x86::r11);
  a.jz(done);
  a.shr(x86::r11, 1);
  a.jnc(none);
  block(join_);
  a.bind(none);
  a.add(x86::edi, X86Reducer::kTreeBytes);
  a.jmp(next);
}
}  // namespace trident::codegen
