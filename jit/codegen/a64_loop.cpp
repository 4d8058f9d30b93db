// The frame of a kernel on AArch64:
//
//   bti c; if the floating-point environment is not the standard one, go to the last block
//   save registers; make a frame
//   load array pointers; load constants that live in registers; invariants
//   main loop    `vectors` vectors a step, while that many elements are left
//   tail         one element at a time
//   exit         where a kernel with an exit goes from the loops; it returns how many elements are done
//   epilogue     scalar outputs
//   undo the frame; ret
//   set the standard environment; call the kernel past its environment check; restore the caller's; ret
//   constant pool, 64-byte aligned
//
// With reductions, main loop and tail are done chunk by chunk as on x86-64 (x86_loop.cpp), with partial results parked
// in the frame between them; the counter counts the elements of the chunk.
//
// Arguments (AAPCS64): x0 self, x1 n, x2 in, x3 out, x4 params.
#include "jit/codegen/a64_loop.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "jit/codegen/a64_emit.h"
#include "jit/codegen/allocator.h"
#include "jit/codegen/float_use.h"
#include "jit/codegen/scheduler.h"
#include "jit/codegen/unwind.h"
#include "jit/kir/reduction.h"
#include "runtime/base/check.h"
#include "runtime/base/limits.h"

namespace trident::codegen {

namespace {

namespace a64 = asmjit::a64;

constexpr std::uint32_t kCallerSavedVectors = 24;
constexpr std::uint8_t kDwarfLink = 30, kDwarfStack = 31, kDwarfVector0 = 64;

class KernelEmitter {
 public:
  KernelEmitter(const kir::Kernel& kernel, const Variant& variant, std::pmr::memory_resource* arena)
      : variant_(variant),
        target_(A64Selector::make_target(kernel)),
        function_(arena),
        pool_(arena),
        selector_(kernel, target_, function_, pool_),
        kernel_(kernel),
        prologue_(arena),
        start_(arena),
        main_(arena),
        parking_(arena),
        tail_(arena),
        chunk_end_(arena),
        join_(arena),
        decided_(arena),
        keep_(arena),
        epilogue_(arena) {
    vectors_ = std::max<std::uint32_t>(variant.vectors, 1);
    vectors_ = (vectors_ + target_.unit - 1) / target_.unit * target_.unit;
  }

  Result<MachineCode> run() {
    select();
    allocate();
    TRY_VOID(check_frame(function_.frame_bytes));
    A64Emitter emitter(kernel_, function_, all_registers_);
    emitter_ = &emitter;
    emit();
    return finish();
  }

 private:
  void select() {
    if (selector_.has_loop()) {
      main_.block = selector_.select_body(vectors_);
      if (variant_.schedule) schedule(function_, main_.block, {.registers = {28, 0}});
      tail_.block = selector_.select_tail();
    }
    if (selector_.reduces()) select_reductions();
    epilogue_.block = selector_.select_epilogue();
    prologue_.block = selector_.select_invariants();
  }

  void select_reductions() {
    start_.block = selector_.select_start();
    parking_.block = selector_.select_parking();
    chunk_end_.block = selector_.select_chunk_end();
    join_.block = selector_.select_join();
    if (kernel_.leaves_chunks()) decided_.block = selector_.select_decided();
    keep_.block = selector_.select_keep();
    for (MemRef* slot : {&left_slot_, &length_slot_, &chunk_slot_}) *slot = function_.add_slot(8, 8);
  }

  void allocate() {
    // v8 to v15 have to be saved, so they are used only where the other registers do not suffice.
    std::uint32_t wanted = peak_pressure(function_, main_.block)[0];
    for (const VRegInfo& info : function_.vregs) wanted += info.global ? 1 : 0;
    all_registers_ = wanted > kCallerSavedVectors;
    const RegSet all = {all_registers_ ? 0xFFFF'FFFFu : (1u << kCallerSavedVectors) - 1, 0u};
    const WeightedBlock main{&main_.block};
    const RegSet locals = assign_globals(function_, {&main, 1}, all);
    const auto place = [&](Stage& stage) { return codegen::allocate(function_, stage.block, locals, stage.placed); };
    code_.spills = place(main_).spills;
    for (Stage* stage : {&prologue_, &start_, &parking_, &tail_, &chunk_end_, &join_, &decided_, &keep_, &epilogue_})
      place(*stage);
  }

  void emit() {
    const Block* const blocks[] = {&main_.block, &tail_.block, &epilogue_.block};
    const std::uint32_t slots = (function_.frame_bytes + 7) / 8 * 8;
    frame_bytes_ = (slots + emitter_->assign_pointers(blocks, slots) + 15) / 16 * 16;
    code_.frame_bytes = frame_bytes_;
    enter();
    if (uses_floats(kernel_)) look_at_environment();
    make_room();
    emitter_->load_globals();
    emitter_->load_pointers();
    emitter_->block(prologue_.block, prologue_.placed);
    if (selector_.has_loop()) selector_.reduces() ? chunks() : loop();
    emitter_->block(epilogue_.block, epilogue_.placed);
    leave();
    if (uses_floats(kernel_)) change_environment();
  }

  void enter() {
    a64::Assembler& a = emitter_->assembler();
    a.embedUInt32(kBtiC);
    if (kernel_.leaves_steps()) a.mov(a64::x(a64_gpr::kResult), a64::x(a64_gpr::kCount));
    if (!kernel_.has_scalar_output()) {  // no elements, no work: the tables may be null
      const asmjit::Label some = a.newLabel();
      a.cbnz(a64::x1, some);
      a.ret(a64::x30);
      a.bind(some);
    }
  }

  // As on x86-64 (x86_frame.h). FPCR is zero in the standard environment and holds no flags.
  void look_at_environment();

  void change_environment();

  void make_room() {
    a64::Assembler& a = emitter_->assembler();
    const std::span<const Placed> placed[] = {prologue_.placed, start_.placed,     main_.placed, parking_.placed,
                                              tail_.placed,     chunk_end_.placed, join_.placed, decided_.placed,
                                              keep_.placed,     epilogue_.placed};
    saved_vectors_ = emitter_->saved_vectors(placed);
    const auto general = emitter_->saved_general();
    saved_bytes_ = static_cast<std::uint32_t>((general.size() + saved_vectors_.size() + 1) / 2 * 16);
    if (saved_bytes_ != 0) {
      emitter_->add(a64_gpr::kStack, a64_gpr::kStack, -std::int64_t{saved_bytes_});
      unwind_.def_cfa(emitter_->offset(), kDwarfStack, saved_bytes_);
      std::uint32_t at = 0;
      for (const std::uint8_t reg : general) {
        a.str(a64::x(reg), a64::ptr(a64::sp, static_cast<std::int32_t>(at)));
        unwind_.saved(emitter_->offset(), reg, saved_bytes_ - at);
        at += 8;
      }
      for (const std::uint8_t reg : saved_vectors_) {
        a.str(a64::d(reg), a64::ptr(a64::sp, static_cast<std::int32_t>(at)));
        unwind_.saved(emitter_->offset(), static_cast<std::uint8_t>(kDwarfVector0 + reg), saved_bytes_ - at);
        at += 8;
      }
    }
    if (frame_bytes_ != 0) {
      make_frame();
    }
  }

  // Lowers the stack pointer, touching every page on the way: see lower_stack() in x86_frame.cpp.
  void make_frame();

  void leave() {
    a64::Assembler& a = emitter_->assembler();
    if (frame_bytes_ != 0) {
      emitter_->add(a64_gpr::kStack, a64_gpr::kStack, frame_bytes_);
      unwind_.def_cfa(emitter_->offset(), kDwarfStack, saved_bytes_);
    }
    if (saved_bytes_ != 0) {
      std::int32_t at = 0;
      for (const std::uint8_t reg : emitter_->saved_general()) {
        a.ldr(a64::x(reg), a64::ptr(a64::sp, at));
        unwind_.restored(emitter_->offset(), reg);
        at += 8;
      }
      for (const std::uint8_t reg : saved_vectors_) {
        a.ldr(a64::d(reg), a64::ptr(a64::sp, at));
        unwind_.restored(emitter_->offset(), static_cast<std::uint8_t>(kDwarfVector0 + reg));
        at += 8;
      }
      emitter_->add(a64_gpr::kStack, a64_gpr::kStack, saved_bytes_);
      unwind_.def_cfa(emitter_->offset(), kDwarfStack, 0);
    }
    a.ret(a64::x30);
  }

  /// Emits the main loop and the tail for the elements that the counter holds.
  void loop();
  void block(const Stage& stage) { emitter_->block(stage.block, stage.placed); }
  a64::Mem word(const MemRef& slot) { return emitter_->frame_operand(static_cast<std::uint32_t>(slot.disp), 8); }

  void exits(const asmjit::Label& main_exit, const asmjit::Label& tail_exit, std::uint32_t step);

  /// Emits the loop over chunks. The frame keeps the elements after this chunk, those of this chunk, and its number.
  void chunks();
  /// Emits: of the elements left, the counter keeps those of this chunk.
  void begin_chunk();
  /// Emits the end of a chunk that another follows: see x86_loop.cpp. kPointer holds its number, the counter the level.
  void keep_tree();
  /// Emits the end of a chunk of a kernel that may end early: see x86_chunks.cpp.
  void end_or_leave(const asmjit::Label& done);
  /// Emits the end of the last chunk: all trees join, the smaller ones first.
  void join_all(const asmjit::Label& done);
  Result<MachineCode> finish() {
    code_.code_size = emitter_->offset();
    code_.pool_offset = emitter_->finish(pool_.bytes);
    const auto bytes = emitter_->bytes();
    if (bytes.size() > limits::kImageBytesMax)
      return make_error(ErrorCode::kLimitExceeded,
                        "the kernel has %zu bytes of machine code, more than the limit of %zu", bytes.size(),
                        limits::kImageBytesMax);
    CHECK(!emitter_->failed());
    code_.bytes.resize(bytes.size());
    std::memcpy(code_.bytes.data(), bytes.data(), bytes.size());
    code_.eh_frame_distance = static_cast<std::uint32_t>((bytes.size() + 7) / 8 * 8);
    code_.eh_frame = unwind_.finish(code_.code_size, code_.eh_frame_distance);
    return std::move(code_);
  }

  const Variant& variant_;
  const A64Target target_;
  Function function_;
  ConstantPool pool_;
  A64Selector selector_;
  const kir::Kernel& kernel_;
  A64Emitter* emitter_ = nullptr;
  UnwindWriter unwind_{kUnwindA64};
  asmjit::Label standard_environment_, other_environment_;
  Stage prologue_, start_, main_, parking_, tail_, chunk_end_, join_, decided_, keep_, epilogue_;
  MemRef left_slot_{}, length_slot_{}, chunk_slot_{};  ///< of kernels with reductions
  std::uint32_t vectors_ = 1;
  bool all_registers_ = false;
  std::vector<std::uint8_t> saved_vectors_;
  std::uint32_t saved_bytes_ = 0, frame_bytes_ = 0;
  MachineCode code_;
};

void KernelEmitter::make_frame() {
  std::uint32_t made = 0;
  while (frame_bytes_ - made >= limits::kStackPageBytes) {
    emitter_->add(a64_gpr::kStack, a64_gpr::kStack, -std::int64_t{limits::kStackPageBytes});
    made += limits::kStackPageBytes;
    unwind_.def_cfa(emitter_->offset(), kDwarfStack, saved_bytes_ + made);
    emitter_->assembler().str(a64::xzr, a64::ptr(a64::sp));
  }
  if (made == frame_bytes_) return;
  emitter_->add(a64_gpr::kStack, a64_gpr::kStack, -std::int64_t{frame_bytes_ - made});
  unwind_.def_cfa(emitter_->offset(), kDwarfStack, saved_bytes_ + frame_bytes_);
}

void KernelEmitter::loop() {
  a64::Assembler& a = emitter_->assembler();
  const a64::GpX count = a64::x(a64_gpr::kCount);
  const std::uint32_t step = vectors_ * target_.lanes;
  const asmjit::Label top = a.newLabel(), rest = a.newLabel(), tail = a.newLabel(), done = a.newLabel();
  const asmjit::Label main_exit = a.newLabel(), tail_exit = a.newLabel();
  // count runs `step` ahead: negative means that fewer than a step are left.
  a.subs(count, count, step);
  a.b_lo(rest);
  a.bind(top);
  emitter_->set_exit(main_exit);
  emitter_->block(main_.block, main_.placed);
  emitter_->advance_pointers(step);
  a.subs(count, count, step);
  a.b_hs(top);
  a.bind(rest);
  code_.loop_insts = static_cast<std::uint32_t>(main_.placed.size()) + 2;
  block(parking_);
  a.adds(count, count, step);
  a.b_eq(done);
  a.bind(tail);
  emitter_->set_exit(tail_exit);
  block(tail_);
  emitter_->advance_pointers(1);
  a.subs(count, count, 1);
  a.b_ne(tail);
  a.bind(done);
  if (kernel_.leaves_steps()) exits(main_exit, tail_exit, step);
}

void KernelEmitter::chunks() {
  a64::Assembler& a = emitter_->assembler();
  const a64::GpX count = a64::x(a64_gpr::kCount), pointer = a64::x(a64_gpr::kPointer);
  const asmjit::Label chunk = a.newLabel(), last = a.newLabel(), done = a.newLabel();
  emitter_->set_length_slot(length_slot_);
  a.str(a64::xzr, word(chunk_slot_));
  a.bind(chunk);
  begin_chunk();
  block(start_);
  loop();
  block(chunk_end_);
  a.ldr(pointer, word(chunk_slot_));
  if (kernel_.leaves_chunks()) {
    end_or_leave(done);
  } else {
    a.ldr(count, word(left_slot_));
    a.cbz(count, last);
    keep_tree();
  }
  a.ldr(pointer, word(chunk_slot_));
  a.add(pointer, pointer, 1);
  a.str(pointer, word(chunk_slot_));
  a.ldr(count, word(left_slot_));
  a.b(chunk);
  a.bind(last);
  if (!kernel_.leaves_chunks()) join_all(done);
  a.bind(done);
}

void KernelEmitter::end_or_leave(const asmjit::Label& done) {
  a64::Assembler& a = emitter_->assembler();
  const a64::GpX number = a64::x(a64_gpr::kPointer), level = a64::x(a64_gpr::kCount);
  const asmjit::Label first = a.newLabel();
  a.mov(level, a64::xzr);
  a.cbz(number, first);
  block(join_);
  a.bind(first);
  a.ldr(number, word(left_slot_));
  a.cbz(number, done);
  emitter_->set_exit(done);
  block(decided_);
  block(keep_);
}

void KernelEmitter::begin_chunk() {
  a64::Assembler& a = emitter_->assembler();
  const a64::GpX count = a64::x(a64_gpr::kCount), length = a64::x(a64_gpr::kPointer);
  a.mov(length, kir::kChunk);
  a.cmp(count, length);
  a.csel(length, count, length, a64::CondCode::kLO);
  a.sub(count, count, length);
  a.str(count, word(left_slot_));
  a.str(length, word(length_slot_));
  a.mov(count, length);
  if (selector_.count_slot().place == Place::none) return;
  const a64::GpX end = a64::x(a64_gpr::kScratch);
  a.ldr(end, word(chunk_slot_));
  a.add(end, length, end, a64::lsl(std::countr_zero(kir::kChunk)));
  a.str(end, a64::ptr(a64::sp, selector_.count_slot().disp));
}

void KernelEmitter::keep_tree() {
  a64::Assembler& a = emitter_->assembler();
  const a64::GpX number = a64::x(a64_gpr::kPointer), level = a64::x(a64_gpr::kCount);
  const asmjit::Label next = a.newLabel(), keep = a.newLabel();
  a.mov(level, a64::xzr);
  a.bind(next);
  a.tbz(number, 0, keep);
  block(join_);
  a.lsr(number, number, 1);
  a.add(level, level, A64Selector::kTreeBytes);
  a.b(next);
  a.bind(keep);
  block(keep_);
}

void KernelEmitter::join_all(const asmjit::Label& done) {
  a64::Assembler& a = emitter_->assembler();
  const a64::GpX number = a64::x(a64_gpr::kPointer), level = a64::x(a64_gpr::kCount);
  const asmjit::Label next = a.newLabel(), none = a.newLabel();
  a.mov(level, a64::xzr);
  a.bind(next);
  a.cbz(number, done);
  a.tbz(number, 0, none);
  block(join_);
  a.bind(none);
  a.lsr(number, number, 1);
  a.add(level, level, A64Selector::kTreeBytes);
  a.b(next);
}

/// Emits what follows an exit: takes the elements left from n. In the main loop their count runs a step ahead.
void KernelEmitter::exits(const asmjit::Label& main_exit, const asmjit::Label& tail_exit, std::uint32_t step) {
  a64::Assembler& a = emitter_->assembler();
  const a64::GpX count = a64::x(a64_gpr::kCount), result = a64::x(a64_gpr::kResult);
  const asmjit::Label over = a.newLabel();
  a.b(over);
  a.bind(main_exit);
  a.add(count, count, step);
  a.bind(tail_exit);
  a.sub(result, result, count);
  a.bind(over);
}

void KernelEmitter::look_at_environment() {
  a64::Assembler& a = emitter_->assembler();
  other_environment_ = a.newLabel();
  standard_environment_ = a.newLabel();
  a.mrs(a64::x(a64_gpr::kScratch), a64::Predicate::SysReg::kFPCR);
  a.cbnz(a64::x(a64_gpr::kScratch), other_environment_);
  a.bind(standard_environment_);
}

void KernelEmitter::change_environment() {
  a64::Assembler& a = emitter_->assembler();
  const a64::GpX found = a64::x(a64_gpr::kScratch);
  a.bind(other_environment_);
  a.stp(a64::x30, found, a64::ptr_pre(a64::sp, -16));
  unwind_.def_cfa(emitter_->offset(), kDwarfStack, 16);
  unwind_.saved(emitter_->offset(), kDwarfLink, 16);
  a.msr(a64::Predicate::SysReg::kFPCR, a64::xzr);
  a.bl(standard_environment_);
  a.ldp(a64::x30, found, a64::ptr_post(a64::sp, 16));
  unwind_.restored(emitter_->offset(), kDwarfLink);
  unwind_.def_cfa(emitter_->offset(), kDwarfStack, 0);
  a.msr(a64::Predicate::SysReg::kFPCR, found);
  a.ret(a64::x30);
}

}  // namespace

Result<MachineCode> emit_a64(const kir::Kernel& kernel, const Variant& variant) {
  std::pmr::monotonic_buffer_resource arena;
  return KernelEmitter(kernel, variant, &arena).run();
}

}  // namespace trident::codegen
