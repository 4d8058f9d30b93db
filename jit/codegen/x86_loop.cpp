// The frame of a kernel on x86-64:
//
//   endbr64; if the floating-point environment is not the standard one, go to the last block
//   save registers; make a frame if values spill
//   load array pointers; load constants that live in registers; invariants
//   far loop     of short bodies, in calls beyond the first-level cache: two vectors a step, and the lines that it is
//                going to write are fetched
//   main loop    `vectors` vectors a step, while that many are left
//   rest loop    a vector a step
//   wide loop    a vector a step in lanes of four bytes, where the loops before have smaller lanes (AVX2)
//   tail         the elements left, under masks, once
//   epilogue     scalar outputs
//   exit         where a kernel with an exit goes from any loop; rax is the number of elements that are done
//   undo the frame; vzeroupper; ret
//   set the standard environment; call the kernel past its environment check; restore the caller's; ret
//   constant pool, 64-byte aligned
//
// With reductions, everything between invariants and epilogue is done chunk by chunk (jit/kir/reduction.h):
//
//   partial results set; main loop, in long calls the one that fetches ahead
//   if it leaves any elements, partial results parked in the frame, rest loop and tail
//   the chunk's result joined with the trees of the chunks before; once all chunks are done, with all of them
//
// With an exit behind chunks, the chunk's result joins those before, and a test of all so far leaves for the epilogue.
//
// All blocks are selected first, then the main loop decides which constants and invariants live in registers, then
// each block is allocated around those.
#include "jit/codegen/x86_loop.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "jit/codegen/float_use.h"
#include "jit/codegen/scheduler.h"
#include "jit/codegen/x86_kernel.h"
#include "jit/kir/reduction.h"
#include "runtime/base/check.h"
#include "runtime/base/limits.h"

namespace trident::codegen {

namespace {

namespace x86 = asmjit::x86;

constexpr std::size_t kArenaBytes = 48 * 1024;    // on the stack: ordinary kernels need no more
constexpr std::uint32_t kAlignedVectorsMin = 16;  ///< of a call, so that its first elements pay
constexpr std::size_t kInstsThatWait = 16;        ///< for a vector; more of them take longer than its stores
/// A step of the far loop. Stores of more vectors in a row take up to 1.5 times as long where the lines are in the
/// second-level cache.
constexpr std::uint32_t kFarVectors = 2;

}  // namespace

X86KernelEmitter::X86KernelEmitter(const kir::Kernel& kernel, Isa isa, const Variant& variant,
                                   std::pmr::memory_resource* arena)
    : kernel_(kernel),
      variant_(variant),
      target_(make_target(kernel, isa, variant)),
      function_(arena),
      pool_(arena),
      selector_(kernel, target_,
                {.fold_loads = variant.schedule,
                 .share_divisors = variant.schedule && variant.newton != 0,
                 .newton = variant.newton,
                 .underflow_apart = variant.underflow_apart},
                function_, pool_),
      small_(selector_, small_lanes(kernel), arena),
      emitter_(kernel, target_, function_, selector_.strided_reads()),
      prologue_(arena),
      start_(arena),
      main_(arena),
      far_(arena),
      parking_(arena),
      rest_(arena),
      wide_(arena),
      tail_(arena),
      whole_end_(arena),
      chunk_end_(arena),
      join_(arena),
      decided_(arena),
      keep_(arena),
      epilogue_(arena) {
  vectors_ = std::max<std::uint32_t>(variant.vectors, 1);
  if (selector_.reducer().any()) vectors_ = std::bit_ceil(vectors_);  // a chunk is a number of steps
  streams_ = variant.non_temporal && !selector_.reducer().any() && !kir::converts_elements(kernel) &&
             !(variant.part && selector_.reads_tables());  // code that reads tables overwrites rdi
  const bool has_outputs = std::any_of(kernel.outputs.begin(), kernel.outputs.end(),
                                       [](const kir::Output& o) { return o.kind == kir::OutputKind::array; });
  streams_ = streams_ && has_outputs;
  aligns_parts_ = streams_ && variant.part && kernel.leaves_steps();
  // Code behind the loop could not return to the copy.
  copies_tail_ = !variant.schedule && !streams_ && !small_.any() && variant.newton == 0 && vectors_ == 1 &&
                 !selector_.has_rare_cases() && !kernel.leaves_steps() &&
                 (target_.avx512 || !kir::converts_elements(kernel));
  if (copies_tail_ && !target_.avx512) tail_lanes_ = lanes_of_tail(kernel, selector_.live_inputs());
}

Result<MachineCode> X86KernelEmitter::run() {
  select();
  if (variant_.schedule) schedule_loops();
  schedule(function_, far_.block, {.registers = {target_.avx512 ? 28u : 12u, 6}});
  allocate();
  TRY_VOID(check_frame(code_.frame_bytes));
  emit();
  return finish();
}

void X86KernelEmitter::select() {
  if (variant_.schedule && vectors_ > 1) selector_.reducer().take_columns(vectors_);
  if (selector_.has_loop()) {
    main_.block = body(vectors_, false);
    if (vectors_ > 1) rest_.block = body(1, false);
    if (waits_for_stores()) far_.block = body(kFarVectors, false);
    if (widens()) wide_.block = selector_.select_body(1, false);
    if (!copies_tail_) tail_.block = widens() ? selector_.select_body(1, true) : body(1, true);
  }
  if (selector_.reducer().any()) select_reductions();
  epilogue_.block = selector_.select_epilogue();
  prologue_.block = selector_.select_invariants();
}

void X86KernelEmitter::select_reductions() {
  X86Reducer& reducer = selector_.reducer();
  start_.block = reducer.select_start();
  parking_.block = reducer.select_parking();
  if (reducer.held_partials() != 0 && !reducer.by_columns()) whole_end_.block = reducer.select_chunk_end(false);
  chunk_end_.block = reducer.select_chunk_end(true);
  join_.block = reducer.select_join();
  if (kernel_.leaves_chunks()) decided_.block = selector_.select_decided();
  keep_.block = reducer.select_keep();
  count_slot_ = function_.add_slot(8, 8);
  chunk_slot_ = function_.add_slot(8, 8);
  column_slot_ = function_.add_slot(8, 8);
}

void X86KernelEmitter::schedule_loops() {
  constexpr std::uint32_t kLeastLocals = 4;
  const std::uint32_t all = target_.avx512 ? 28 : 14;
  const std::uint32_t held = std::min(selector_.reducer().held_partials(), all - kLeastLocals);
  const std::uint32_t waiting = !variant_.lockstep ? 0 : target_.avx512 ? 12 : 6;
  schedule(function_, main_.block, {.registers = {all - held + waiting, 6}});
  schedule(function_, rest_.block, {.registers = {all - held, 6}});
  schedule(function_, wide_.block, {.registers = {all - held, 6}});
}

void X86KernelEmitter::allocate() {
  RegSet all = {target_.avx512 ? 0xFFFF'FFFFu : 0xFFFFu, target_.avx512 ? 0xFEu : 0u};
  if (copies_tail_ && target_.avx512) all[1] &= ~(1u << X86Emitter::kTailMask);
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
  for (Stage* stage : {&prologue_, &start_, &far_, &parking_, &rest_, &wide_, &tail_, &whole_end_, &chunk_end_, &join_,
                       &decided_, &keep_, &epilogue_})
    place(*stage);
  code_.frame_bytes = (function_.frame_bytes + 63) / 64 * 64;
}

void X86KernelEmitter::emit() {
  emitter_.assign_pointers(uses_param_memory(), selector_.live_inputs());
  enter();
  if (uses_floats(kernel_)) environment_.look();
  frame_.make(code_.frame_bytes);
  emitter_.load_globals();  // before the pointers, which may take the register of the parameters' table
  emitter_.load_pointers();
  emitter_.block(prologue_.block, prologue_.placed);
  if (selector_.has_loop()) selector_.reducer().any() ? chunks() : loops();
  emitter_.rare_cases();
  emitter_.block(epilogue_.block, epilogue_.placed);
  if (kernel_.leaves_steps()) exit();
  frame_.leave();
  if (uses_floats(kernel_)) environment_.change();
}

void X86KernelEmitter::enter() {
  x86::Assembler& a = emitter_.assembler();
  a.emit(x86::Inst::kIdEndbr64);
  if (!kernel_.has_scalar_output()) {  // no elements, no work: the tables may be null
    const asmjit::Label some = a.newLabel();
    a.test(x86::rsi, x86::rsi);
    a.jnz(some);
    if (kernel_.leaves_steps()) a.xor_(x86::eax, x86::eax);
    a.ret();
    a.bind(some);
  }
}

void X86KernelEmitter::loop(const Stage& stage, std::uint32_t step, bool first) {
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
  if (fetches_) emitter_.fetch_ahead(step);
  if (&stage == &far_) emitter_.fetch_outputs(step);
  if (copies_tail_ && &stage != &far_)
    emitter_.recorded_block(stage.block, stage.placed);
  else
    emitter_.block(stage.block, stage.placed);
  a.add(x86::rax, step);
  a.cmp(x86::rax, x86::rdi);
  a.jle(top);
  a.bind(out);
}

void X86KernelEmitter::loops() {
  x86::Assembler& a = emitter_.assembler();
  a.xor_(x86::eax, x86::eax);
  const asmjit::Label streamed = a.newLabel();
  if (streams_) streaming_loop(streamed);
  if (small_.any()) align_stores();
  if (has_far_loop()) far_loop();
  loop(main_, vectors_ * lanes(), !small_.any() && !aligns_parts_ && !has_far_loop());
  count_main_loop();
  a.bind(streamed);
  if (vectors_ > 1 || streams_) loop(vectors_ > 1 ? rest_ : main_, lanes(), false);
  if (widens()) loop(wide_, target_.lanes, false);
  last_elements();
}

/// A kernel with an exit has none: where it exits may decide bits, and must not depend on the length of the call.
bool X86KernelEmitter::waits_for_stores() {
  return !selector_.reducer().any() && !kir::converts_elements(kernel_) && !kernel_.leaves_steps() &&
         main_.block.insts.size() <= vectors_ * kInstsThatWait;
}

void X86KernelEmitter::far_loop() {
  x86::Assembler& a = emitter_.assembler();
  const asmjit::Label near = a.newLabel();
  a.cmp(x86::rsi, kNearBytes / emitter_.moved_bytes());
  a.jb(near);
  loop(far_, kFarVectors * target_.lanes, false);
  a.bind(near);
}

void X86KernelEmitter::last_elements() {
  x86::Assembler& a = emitter_.assembler();
  const asmjit::Label done = a.newLabel();
  a.sub(x86::rsi, x86::rax);
  a.jz(done);
  tail();
  if (kernel_.leaves_steps()) count_tail();
  a.bind(done);
}

bool X86KernelEmitter::uses_param_memory() const {
  if (selector_.reads_tables()) return true;
  if (!selector_.reads_params() || !variant_.schedule) return selector_.reads_params();
  for (const Stage* stage : {&main_, &far_, &rest_, &wide_, &tail_, &decided_, &epilogue_, &prologue_})
    for (const Placed& placed : stage->placed)
      if (placed.mem.place == Place::param) return true;
  return false;
}

void X86KernelEmitter::count_main_loop() {
  code_.loop_insts = static_cast<std::uint32_t>(main_.placed.size()) + 3;
  code_.loop_elements = vectors_ * lanes();
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

void X86KernelEmitter::exit() {
  emitter_.bind_exit();
  if (streams_) emitter_.assembler().sfence();
}

/// Adds the tail's elements to the index, which is what a kernel with an exit returns.
void X86KernelEmitter::count_tail() {
  x86::Assembler& a = emitter_.assembler();
  if (target_.avx512)
    a.add(x86::rax, x86::rsi);
  else
    a.sub(x86::rax, x86::rsi);
}
void X86KernelEmitter::tail() {
  x86::Assembler& a = emitter_.assembler();
  if (target_.avx512 && small_.any()) {
    a.mov(x86::rdi, -1);
    a.bzhi(x86::rdi, x86::rdi, x86::rsi);
  } else if (target_.avx512) {
    a.mov(x86::edi, -1);
    a.bzhi(x86::edi, x86::edi, x86::esi);
  } else {
    a.lea(x86::rdi, emitter_.pool_operand(emitter_.mask_table(pool_)));
    emitter_.note_pool_use(0);
    a.neg(x86::rsi);
  }
  if (!copies_tail_) return block(tail_);
  for (const std::uint32_t lane_bytes : {4u, 8u})
    if ((tail_lanes_ & lane_bytes) != 0) emitter_.load_tail_mask(lane_bytes);
  if (target_.avx512) a.kmovd(x86::KReg(X86Emitter::kTailMask), x86::edi);
  emitter_.masked_copy();
}

/// Emits the `edi` elements from 0 on, fewer than a vector, and sets the index.
void X86KernelEmitter::first_elements() {
  x86::Assembler& a = emitter_.assembler();
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

void X86KernelEmitter::align_stores() {
  if (!target_.avx512) return;
  x86::Assembler& a = emitter_.assembler();
  const asmjit::Label plain = a.newLabel();
  a.cmp(x86::rsi, kAlignedVectorsMin * lanes());
  a.jb(plain);
  emitter_.elements_to_boundary(x86::edi, 0, lanes(), plain);
  first_elements();
  a.bind(plain);
}

/// Leaves the number of elements before a boundary of all outputs in edi, or goes to `plain` where there is none.
void X86KernelEmitter::find_boundary(const asmjit::Label& first_misaligned, const asmjit::Label& plain) {
  x86::Assembler& a = emitter_.assembler();
  bool first = true;
  for (std::uint32_t o = 0; o < kernel_.outputs.size(); ++o) {
    if (kernel_.outputs[o].kind != kir::OutputKind::array) continue;
    const x86::Gp elements = first ? x86::edi : x86::r11d;
    emitter_.elements_to_boundary(elements, o, target_.lanes, first ? first_misaligned : plain);
    if (!first) {
      a.cmp(elements, x86::edi);
      a.jne(plain);
    }
    first = false;
  }
}

std::uint32_t X86KernelEmitter::stream_elements() const {
  std::uint32_t bytes = 0;
  for (const kir::Output& output : kernel_.outputs)
    if (output.kind == kir::OutputKind::array) bytes += ir::bytes_of(kernel_.type_of(output.value));
  return kStreamBytes / bytes;
}

void X86KernelEmitter::streaming_loop(const asmjit::Label& done) {
  x86::Assembler& a = emitter_.assembler();
  const asmjit::Label plain = a.newLabel();
  if (variant_.part) {
    a.cmp(x86::rsi, kAlignedVectorsMin * lanes());
    a.jb(plain);
  }
  if (aligns_parts_) {
    align_part(plain);
  } else {
    a.cmp(variant_.part ? x86::rdi : x86::rsi, stream_elements());
    a.jb(plain);
    find_boundary(plain, plain);
    first_elements();
  }
  emitter_.set_non_temporal(true);
  loop(main_, vectors_ * target_.lanes, false);
  emitter_.set_non_temporal(false);
  a.sfence();
  a.jmp(done);
  a.bind(plain);
  if (!aligns_parts_) a.xor_(x86::eax, x86::eax);
}

void X86KernelEmitter::align_part(const asmjit::Label& plain) {
  x86::Assembler& a = emitter_.assembler();
  const asmjit::Label uneven = a.newLabel(), even = a.newLabel();
  const x86::Mem call_elements = x86::qword_ptr(x86::rsp, -24);  // below what first_elements() keeps
  a.mov(call_elements, x86::rdi);
  find_boundary(plain, uneven);
  a.jmp(even);
  a.bind(uneven);
  a.mov(call_elements, 0);
  a.bind(even);
  first_elements();
  a.cmp(call_elements, stream_elements());
  a.jb(plain);
}

Result<MachineCode> X86KernelEmitter::finish() {
  TRY_VOID(lay_out(emitter_, pool_, unwind_, "kernel", code_));
  return std::move(code_);
}

Result<MachineCode> emit_x86(const kir::Kernel& kernel, Isa isa, const Variant& variant) {
  std::array<std::byte, kArenaBytes> buffer;
  std::pmr::monotonic_buffer_resource arena(buffer.data(), buffer.size());
  return X86KernelEmitter(kernel, isa, variant, &arena).run();
}

}  // namespace trident::codegen
