// The frame of a kernel on AArch64:
//
//   bti c; if the floating-point environment is not the standard one, go to the last block
//   save registers; make a frame
//   load array pointers; load constants that live in registers; invariants; starting values of reductions
//   main loop    `vectors` vectors a step, while that many elements are left
//   parking      partial results to the frame
//   tail         one element at a time
//   exit         where a kernel with an exit goes from the loops; it returns how many elements are done
//   epilogue     reductions combined, scalar outputs
//   undo the frame; ret
// set the standard environment; call the kernel past its environment check; restore the caller's; ret
//   constant pool, 64-byte aligned
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
        main_(arena),
        parking_(arena),
        tail_(arena),
        epilogue_(arena) {
    vectors_ = std::max<std::uint32_t>(variant.vectors, 1);
    vectors_ = (vectors_ + target_.unit - 1) / target_.unit * target_.unit;
  }

  Result<MachineCode> run() {
    select();
    allocate();
    TRY_VOID(check_frame(function_.frame_bytes));
    A64Emitter emitter(kernel_, selector_, function_, all_registers_);
    emitter_ = &emitter;
    emit();
    return finish();
  }

 private:
  void select() {
    if (selector_.has_loop()) {
      main_.block = selector_.select_body(vectors_);
      if (variant_.schedule) schedule(function_, main_.block, {.registers = {28, 0}});
      parking_.block = selector_.select_parking();
      tail_.block = selector_.select_tail();
    }
    epilogue_.block = selector_.select_epilogue();
    prologue_.block = selector_.select_invariants();
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
    for (Stage* stage : {&prologue_, &parking_, &tail_, &epilogue_}) place(*stage);
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
    if (selector_.has_loop()) loops();
    emitter_->block(epilogue_.block, epilogue_.placed);
    leave();
    if (uses_floats(kernel_)) change_environment();
  }

  void enter() {
    a64::Assembler& a = emitter_->assembler();
    a.embedUInt32(kBtiC);
    if (kernel_.exit.valid()) a.mov(a64::x(a64_gpr::kResult), a64::x(a64_gpr::kCount));
    if (!kernel_.has_scalar_output()) {  // no elements, no work: the tables may be null
      const asmjit::Label some = a.newLabel();
      a.cbnz(a64::x1, some);
      a.ret(a64::x30);
      a.bind(some);
    }
  }

  // As on x86-64 (x86_loop.cpp). FPCR is zero in the standard environment and holds no flags.
  void look_at_environment() {
    a64::Assembler& a = emitter_->assembler();
    other_environment_ = a.newLabel();
    standard_environment_ = a.newLabel();
    a.mrs(a64::x(a64_gpr::kScratch), a64::Predicate::SysReg::kFPCR);
    a.cbnz(a64::x(a64_gpr::kScratch), other_environment_);
    a.bind(standard_environment_);
  }

  void change_environment();

  void make_room() {
    a64::Assembler& a = emitter_->assembler();
    const std::span<const Placed> placed[] = {prologue_.placed, main_.placed, parking_.placed, tail_.placed,
                                              epilogue_.placed};
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

  // Lowers the stack pointer, touching every page on the way: see make_frame() in x86_loop.cpp.
  void make_frame() {
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

  void loops() {
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
    emitter_->advance_pointers(step, false);
    a.subs(count, count, step);
    a.b_hs(top);
    a.bind(rest);
    code_.loop_insts = static_cast<std::uint32_t>(main_.placed.size()) + 2;
    emitter_->block(parking_.block, parking_.placed);
    a.adds(count, count, step);
    a.b_eq(done);
    emitter_->point_at_partials();
    a.bind(tail);
    emitter_->set_exit(tail_exit);
    emitter_->block(tail_.block, tail_.placed);
    emitter_->advance_pointers(1, true);
    a.subs(count, count, 1);
    a.b_ne(tail);
    a.bind(done);
    if (kernel_.exit.valid()) exits(main_exit, tail_exit, step);
  }

  void exits(const asmjit::Label& main_exit, const asmjit::Label& tail_exit, std::uint32_t step);

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
  Stage prologue_, main_, parking_, tail_, epilogue_;
  std::uint32_t vectors_ = 1;
  bool all_registers_ = false;
  std::vector<std::uint8_t> saved_vectors_;
  std::uint32_t saved_bytes_ = 0, frame_bytes_ = 0;
  MachineCode code_;
};

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
