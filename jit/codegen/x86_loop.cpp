// The frame of a kernel on x86-64:
//
//   endbr64; if the floating-point environment is not the standard one, go to the last block
//   save registers; make a frame if values spill
//   load array pointers; load constants that live in registers; invariants; starting values of reductions
//   main loop    `vectors` vectors a step, while that many are left
//   unit loop    `unit` vectors a step (1, or as many as make 16 elements when there are reductions)
// tail         the elements left, under masks, once
//   epilogue     reductions combined, scalar outputs
//   exit         where a kernel with an exit goes from any loop; rax is the number of elements that are done
//   undo the frame; vzeroupper; ret
// set the standard environment; call the kernel past its environment check; restore the caller's; ret
//   constant pool, 64-byte aligned
//
// All blocks are selected first, then the main loop decides which constants and invariants live in registers, then
// each block is allocated around those.
#include "jit/codegen/x86_loop.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "jit/codegen/allocator.h"
#include "jit/codegen/float_use.h"
#include "jit/codegen/reduction.h"
#include "jit/codegen/scheduler.h"
#include "jit/codegen/unwind.h"
#include "jit/codegen/x86_emit.h"
#include "jit/codegen/x86_select.h"
#include "runtime/base/check.h"
#include "runtime/base/float_environment.h"
#include "runtime/base/limits.h"

namespace trident::codegen {

namespace {

namespace x86 = asmjit::x86;

constexpr std::uint32_t kLoopAlign = 64;
constexpr std::int32_t kMxcsrFound = -4;        // from the stack pointer on entry: where the caller's MXCSR is kept
constexpr int kMxcsrFlagBits = 6;               // below the controls
constexpr std::size_t kArenaBytes = 48 * 1024;  // on the stack: ordinary kernels need no more

X86Target make_target(const kir::Kernel& kernel, Isa isa, const Variant& variant) {
  X86Target target;
  target.avx512 = isa == Isa::avx512;
  target.vector_bytes = target.avx512 && variant.vector_bits != 256 ? 64 : 32;
  std::uint32_t widest = 4;
  bool reduces = false;
  for (const kir::Inst& inst : kernel.insts) {
    const bool reduction = is_reduction(inst);
    reduces |= reduction;
    if (inst.section == kir::Section::body || reduction) {
      widest = std::max(widest, ir::bytes_of(inst.type));
      if (inst.a.valid() && inst.op != kir::Op::Strided)
        widest = std::max(widest, ir::bytes_of(kernel.type_of(inst.a)));
    }
  }
  for (const kir::Output& output : kernel.outputs)
    if (output.kind == kir::OutputKind::array) widest = std::max(widest, ir::bytes_of(kernel.type_of(output.value)));
  target.lanes = target.vector_bytes / widest;
  target.unit = reduces ? kPartials / target.lanes : 1;
  return target;
}

class KernelEmitter {
 public:
  KernelEmitter(const kir::Kernel& kernel, Isa isa, const Variant& variant, std::pmr::memory_resource* arena)
      : kernel_(kernel),
        variant_(variant),
        target_(make_target(kernel, isa, variant)),
        function_(arena),
        pool_(arena),
        selector_(kernel, target_,
                  {.fold_loads = variant.schedule,
                   .share_divisors = variant.schedule && variant.newton != 0,
                   .newton = variant.newton},
                  function_, pool_),
        emitter_(kernel, target_, function_, selector_.strided_reads()),
        prologue_(arena),
        main_(arena),
        unit_(arena),
        tail_(arena),
        epilogue_(arena) {
    vectors_ = std::max<std::uint32_t>(variant.vectors, 1);
    vectors_ = (vectors_ + target_.unit - 1) / target_.unit * target_.unit;
    // Code behind the loop could not return to the copy. With AVX2, partial results in registers cannot be masked.
    copies_tail_ = (target_.avx512 || target_.unit == 1) && !variant.schedule && !variant.non_temporal &&
                   variant.newton == 0 && vectors_ == target_.unit && !selector_.has_rare_cases() &&
                   !kernel.exit.valid();
    if (copies_tail_ && !target_.avx512) find_tail_lanes();
  }

  Result<MachineCode> run() {
    select();
    if (variant_.schedule) schedule_loops();
    allocate();
    TRY_VOID(check_frame(code_.frame_bytes));
    emit();
    return finish();
  }

 private:
  void select() {
    if (selector_.has_loop()) {
      main_.block = selector_.select_body(vectors_, false);
      if (vectors_ > target_.unit) unit_.block = selector_.select_body(target_.unit, false);
      if (!copies_tail_) tail_.block = selector_.select_body(target_.unit, true);
    }
    epilogue_.block = selector_.select_epilogue();
    prologue_.block = selector_.select_invariants();
  }

  void schedule_loops() {
    ScheduleOptions options;
    options.registers = {target_.avx512 ? 28u : 14u, 6};
    schedule(function_, main_.block, options);
    schedule(function_, unit_.block, options);
  }

  void allocate() {
    RegSet all = {target_.avx512 ? 0xFFFF'FFFFu : 0xFFFFu, target_.avx512 ? 0xFEu : 0u};
    if (copies_tail_ && target_.avx512) all[1] &= ~0u << (1 + target_.unit);  // the tail's masks
    for (const std::uint32_t lane_bytes : {4u, 8u})
      if ((tail_lanes_ & lane_bytes) != 0) all[0] &= ~(1u << X86Emitter::tail_mask_register(lane_bytes));
    const WeightedBlock main{&main_.block};
    const RegSet locals =
        variant_.schedule ? assign_globals(function_, {&main, 1}, all) : assign_homeless_globals(function_, all);
    const auto place = [&](Stage& stage) {
      stage.placed.reserve(stage.block.insts.size() + stage.block.insts.size() / 4);
      return codegen::allocate(function_, stage.block, locals, stage.placed);
    };
    code_.spills = place(main_).spills;
    place(prologue_);
    place(unit_);
    place(tail_);
    place(epilogue_);
    code_.frame_bytes = (function_.frame_bytes + 63) / 64 * 64;
  }

  void find_tail_lanes();

  [[nodiscard]] bool uses_param_memory() const {
    if (selector_.reads_tables()) return true;
    if (!selector_.reads_params() || !variant_.schedule) return selector_.reads_params();
    for (const Stage* stage : {&main_, &unit_, &tail_, &epilogue_, &prologue_})
      for (const Placed& placed : stage->placed)
        if (placed.mem.place == Place::param) return true;
    return false;
  }

  void emit() {
    emitter_.assign_pointers(uses_param_memory(), selector_.live_inputs());
    enter();
    if (uses_floats(kernel_)) look_at_environment();
    make_room();
    emitter_.load_globals();  // before the pointers, which may take the register of the parameters' table
    emitter_.load_pointers();
    emitter_.block(prologue_.block, prologue_.placed);
    if (selector_.has_loop()) loops();
    emitter_.rare_cases();
    emitter_.block(epilogue_.block, epilogue_.placed);
    if (kernel_.exit.valid()) exit();
    leave();
    if (uses_floats(kernel_)) change_environment();
  }

  void enter() {
    x86::Assembler& a = emitter_.assembler();
    a.emit(x86::Inst::kIdEndbr64);
    if (!kernel_.has_scalar_output()) {  // no elements, no work: the tables may be null
      const asmjit::Label some = a.newLabel();
      a.test(x86::rsi, x86::rsi);
      a.jnz(some);
      if (kernel_.exit.valid()) a.xor_(x86::eax, x86::eax);
      a.ret();
      a.bind(some);
    }
  }

  void exit();

  // MXCSR belongs to the caller. In a non-standard one the kernel would round, flush or trap differently. A caller with
  // the standard one pays a store and a branch that is never taken.
  void look_at_environment() {
    static_assert(kMxcsrControls >> 16 == 0 && std::countr_zero(kMxcsrControls) == kMxcsrFlagBits);
    x86::Assembler& a = emitter_.assembler();
    other_environment_ = a.newLabel();
    standard_environment_ = a.newLabel();
    a.vstmxcsr(x86::dword_ptr(x86::rsp, kMxcsrFound));
    a.movzx(x86::eax, x86::word_ptr(x86::rsp, kMxcsrFound));
    a.shr(x86::eax, kMxcsrFlagBits);
    a.cmp(x86::eax, kStandardMxcsr >> kMxcsrFlagBits);
    a.jne(other_environment_);
    a.bind(standard_environment_);
  }

  // Calls the rest of the kernel: no other block has to know of the environment.
  void change_environment() {
    constexpr std::int32_t kBytes = 24;  // the stack of the called part is aligned as any function's
    x86::Assembler& a = emitter_.assembler();
    a.bind(other_environment_);
    a.sub(x86::rsp, kBytes);
    unwind_.def_cfa(emitter_.offset(), x86_gpr::kDwarfStack, 8 + kBytes);
    a.mov(x86::dword_ptr(x86::rsp), kStandardMxcsr);
    a.vldmxcsr(x86::dword_ptr(x86::rsp));
    a.call(standard_environment_);
    a.vldmxcsr(x86::dword_ptr(x86::rsp, kBytes + kMxcsrFound));
    a.add(x86::rsp, kBytes);
    unwind_.def_cfa(emitter_.offset(), x86_gpr::kDwarfStack, 8);
    a.ret();
  }

  void make_room() {
    x86::Assembler& a = emitter_.assembler();
    std::uint32_t below = 8;
    const auto push = [&](std::uint8_t reg) {
      a.push(x86::gpq(reg));
      below += 8;
      unwind_.def_cfa(emitter_.offset(), x86_gpr::kDwarfStack, below);
      unwind_.saved(emitter_.offset(), x86_gpr::dwarf(reg), below);
    };
    if (code_.frame_bytes != 0) {
      push(x86_gpr::kFrame);
      a.mov(x86::rbp, x86::rsp);
      unwind_.def_cfa(emitter_.offset(), x86_gpr::dwarf(x86_gpr::kFrame), below);
    }
    for (const std::uint8_t reg : emitter_.saved_registers()) {
      a.push(x86::gpq(reg));
      below += 8;
      if (code_.frame_bytes == 0) unwind_.def_cfa(emitter_.offset(), x86_gpr::kDwarfStack, below);
      unwind_.saved(emitter_.offset(), x86_gpr::dwarf(reg), below);
    }
    if (code_.frame_bytes != 0) {
      make_frame(code_.frame_bytes);
    }
  }

  // Lowers the stack pointer. Beyond one page it touches every page on the way, so that a stack that is too small
  // faults on its guard page and not beyond it.
  void make_frame(std::uint32_t bytes) {
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

  void leave() {
    x86::Assembler& a = emitter_.assembler();
    const auto saved = emitter_.saved_registers();
    std::uint32_t below = static_cast<std::uint32_t>(8 * saved.size()) + (code_.frame_bytes != 0 ? 16 : 8);
    if (code_.frame_bytes != 0) a.lea(x86::rsp, x86::ptr(x86::rbp, -static_cast<std::int32_t>(8 * saved.size())));
    for (std::size_t i = saved.size(); i-- > 0;) {
      a.pop(x86::gpq(saved[i]));
      below -= 8;
      unwind_.restored(emitter_.offset(), x86_gpr::dwarf(saved[i]));
      if (code_.frame_bytes == 0) unwind_.def_cfa(emitter_.offset(), x86_gpr::kDwarfStack, below);
    }
    if (code_.frame_bytes != 0) {
      a.pop(x86::rbp);
      unwind_.restored(emitter_.offset(), x86_gpr::dwarf(x86_gpr::kFrame));
      unwind_.def_cfa(emitter_.offset(), x86_gpr::kDwarfStack, 8);
    }
    a.vzeroupper();
    a.ret();
  }

  /// Emits `stage` while `step` elements are left, from the index on.
  void loop(const Stage& stage, std::uint32_t step, bool first) {
    x86::Assembler& a = emitter_.assembler();
    const asmjit::Label top = a.newLabel(), out = a.newLabel();
    a.mov(x86::rdi, x86::rsi);
    a.sub(x86::rdi, step);
    if (first)
      a.jb(out);
    else {
      a.cmp(x86::rax, x86::rdi);
      a.jg(out);
    }
    if (variant_.schedule) a.align(asmjit::AlignMode::kCode, kLoopAlign);
    a.bind(top);
    if (copies_tail_)
      emitter_.recorded_block(stage.block, stage.placed);
    else
      emitter_.block(stage.block, stage.placed);
    a.add(x86::rax, step);
    a.cmp(x86::rax, x86::rdi);
    a.jle(top);
    a.bind(out);
  }

  void loops() {
    x86::Assembler& a = emitter_.assembler();
    a.xor_(x86::eax, x86::eax);
    const std::uint32_t step = vectors_ * target_.lanes, unit = target_.unit * target_.lanes;
    const asmjit::Label streamed = a.newLabel();
    if (variant_.non_temporal) streaming_loop(streamed);
    loop(main_, step, true);
    count_main_loop();
    a.bind(streamed);
    if (vectors_ > target_.unit || variant_.non_temporal) loop(vectors_ > target_.unit ? unit_ : main_, unit, false);
    const asmjit::Label done = a.newLabel();
    a.sub(x86::rsi, x86::rax);  // elements left, fewer than a unit
    a.jz(done);
    tail();
    if (kernel_.exit.valid()) count_tail();
    a.bind(done);
  }

  void count_tail();

  /// Emits the `rsi` (1 .. unit - 1) elements from the index on, under masks.
  void tail() {
    x86::Assembler& a = emitter_.assembler();
    if (target_.avx512) {
      a.mov(x86::edi, -1);
      a.bzhi(x86::edi, x86::edi, x86::esi);
    } else {
      a.lea(x86::rdi, emitter_.pool_operand(mask_table()));
      emitter_.note_pool_use(0);
      a.neg(x86::rsi);
    }
    if (copies_tail_ && !target_.avx512) {
      for (const std::uint32_t lane_bytes : {4u, 8u})
        if ((tail_lanes_ & lane_bytes) != 0) emitter_.load_tail_mask(lane_bytes);
      emitter_.masked_copy();
    } else if (copies_tail_) {
      for (std::uint32_t copy = 0; copy < target_.unit; ++copy) {
        if (copy != 0) a.shr(x86::edi, target_.lanes);
        a.kmovd(x86::KReg(1 + copy), x86::edi);
      }
      emitter_.masked_copy();
    } else {
      emitter_.block(tail_.block, tail_.placed);
    }
  }

  /// Emits the main loop with non-temporal stores, for calls that are long enough. Such stores must be aligned. So all
  /// outputs must be the same number of elements before a boundary, and those elements go first, under masks; otherwise
  /// the plain loop takes over. Ends at `done` with fewer than a step left. Reductions count elements from 0 by
  /// sixteens, so they need outputs that are aligned from the start.
  void streaming_loop(const asmjit::Label& done) {
    x86::Assembler& a = emitter_.assembler();
    const asmjit::Label plain = a.newLabel();
    std::uint32_t bytes = 0;
    for (const kir::Output& output : kernel_.outputs)
      if (output.kind == kir::OutputKind::array) bytes += ir::bytes_of(kernel_.type_of(output.value));
    if (bytes == 0) return;
    const bool reduces = std::any_of(kernel_.insts.begin(), kernel_.insts.end(), is_reduction);
    const bool peels = target_.unit == 1 && !reduces;  // elements up to the boundary may go first
    a.cmp(x86::rsi, kStreamBytes / bytes);
    a.jb(plain);
    bool first = true;
    for (std::uint32_t o = 0; o < kernel_.outputs.size(); ++o) {
      if (kernel_.outputs[o].kind != kir::OutputKind::array) continue;
      const std::uint32_t lane_bytes = ir::bytes_of(kernel_.type_of(kernel_.outputs[o].value));
      const x86::Gp elements = first ? x86::edi : x86::r11d;  // up to the boundary
      const std::uint8_t pointer = emitter_.pointer_of(Place::output, o);
      if (pointer == kNoReg)
        a.mov(elements, x86::dword_ptr(x86::gpq(x86_gpr::kOutputs), static_cast<std::int32_t>(8 * o)));
      else
        a.mov(elements, x86::gpd(pointer));
      a.neg(elements);
      a.test(elements, lane_bytes - 1);
      a.jnz(plain);
      a.shr(elements, static_cast<std::uint32_t>(std::countr_zero(lane_bytes)));
      a.and_(elements, target_.lanes - 1);
      if (first && !peels) a.jnz(plain);
      if (!first) {
        a.cmp(elements, x86::edi);
        a.jne(plain);
      }
      first = false;
    }
    if (peels) {
      const asmjit::Label aligned = a.newLabel();
      a.test(x86::edi, x86::edi);
      a.jz(aligned);
      a.mov(x86::qword_ptr(x86::rsp, -8), x86::rsi);  // below the stack pointer: nothing is called
      a.mov(x86::qword_ptr(x86::rsp, -16), x86::rdi);
      a.mov(x86::esi, x86::edi);
      tail();
      a.mov(x86::rax, x86::qword_ptr(x86::rsp, -16));
      a.mov(x86::rsi, x86::qword_ptr(x86::rsp, -8));
      a.bind(aligned);
    }
    emitter_.set_non_temporal(true);
    loop(main_, vectors_ * target_.lanes, false);
    emitter_.set_non_temporal(false);
    a.sfence();
    a.jmp(done);
    a.bind(plain);
    a.xor_(x86::eax, x86::eax);
  }

  void count_main_loop();

  /// Returns the middle of a table of ones followed by zeros: unit * lanes 8-byte lanes of each.
  std::int32_t mask_table() {
    const std::uint32_t half = target_.unit * target_.lanes * 8;
    std::array<std::uint8_t, 2 * kPartials * 8> table{};
    std::fill_n(table.begin(), half, std::uint8_t{0xFF});
    return pool_.add_bytes(table.data(), 2 * half, 32) + static_cast<std::int32_t>(half);
  }

  Result<MachineCode> finish() {
    TRY_VOID(lay_out(emitter_, pool_, unwind_, "kernel", code_));
    return std::move(code_);
  }

  const kir::Kernel& kernel_;
  const Variant& variant_;
  X86Target target_;
  Function function_;
  ConstantPool pool_;
  X86Selector selector_;
  X86Emitter emitter_;
  UnwindWriter unwind_{UnwindHost{}};
  asmjit::Label standard_environment_, other_environment_;
  Stage prologue_, main_, unit_, tail_, epilogue_;
  std::uint32_t vectors_ = 1;
  bool copies_tail_ = false;      ///< the tail is the main loop's bytes with masks set, which saves making it
  std::uint32_t tail_lanes_ = 0;  ///< then, with AVX2: bytes of the lanes that are loaded or stored, added up
  MachineCode code_;
};

void KernelEmitter::count_main_loop() {
  code_.loop_insts = static_cast<std::uint32_t>(main_.placed.size()) + 3;
  code_.loop_elements = vectors_ * target_.lanes;
  for (const Placed& placed : main_.placed) {
    if (placed.kind == Placed::Kind::load) ++code_.loads;
    if (placed.kind == Placed::Kind::store) ++code_.stores;
    if (placed.kind != Placed::Kind::inst) continue;
    const MInst& inst = main_.block.insts[placed.inst];
    if (placed.mem_use != kNoReg || inst.unit == Unit::load) ++code_.loads;
    if (inst.unit == Unit::store) ++code_.stores;
    if (inst.unit == Unit::vector) code_.vector_work += inst.occupancy;
    if (inst.unit == Unit::divider) code_.divider_work += inst.occupancy;
  }
}

void KernelEmitter::exit() {
  emitter_.bind_exit();
  if (variant_.non_temporal) emitter_.assembler().sfence();
}

/// Adds the tail's elements to the index, which is what a kernel with an exit returns.
void KernelEmitter::count_tail() {
  x86::Assembler& a = emitter_.assembler();
  if (target_.avx512)
    a.add(x86::rax, x86::rsi);
  else
    a.sub(x86::rax, x86::rsi);
}

void KernelEmitter::find_tail_lanes() {
  for (std::size_t i = 0; i < kernel_.inputs.size(); ++i)
    if ((selector_.live_inputs() >> i & 1) != 0 && !kernel_.inputs[i].is_table())
      tail_lanes_ |= ir::bytes_of(kernel_.inputs[i].type);
  for (const kir::Output& output : kernel_.outputs)
    if (output.kind == kir::OutputKind::array) tail_lanes_ |= ir::bytes_of(kernel_.type_of(output.value));
}

}  // namespace

Result<MachineCode> emit_x86(const kir::Kernel& kernel, Isa isa, const Variant& variant) {
  std::array<std::byte, kArenaBytes> buffer;
  std::pmr::monotonic_buffer_resource arena(buffer.data(), buffer.size());
  return KernelEmitter(kernel, isa, variant, &arena).run();
}

}  // namespace trident::codegen
