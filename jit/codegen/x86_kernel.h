// The emitter of x86-64 kernels: what x86_loop.cpp says of the frame of a kernel, block by block.
#pragma once

#include "jit/codegen/allocator.h"
#include "jit/codegen/codegen.h"
#include "jit/codegen/unwind.h"
#include "jit/codegen/x86_emit.h"
#include "jit/codegen/x86_frame.h"
#include "jit/codegen/x86_select.h"
#include "jit/codegen/x86_small_lanes.h"

namespace trident::codegen {

inline constexpr std::uint32_t kLoopAlign = 64;

/// Emits one kernel. Call `run` once.
class X86KernelEmitter {
 public:
  X86KernelEmitter(const kir::Kernel& kernel, Isa isa, const Variant& variant, std::pmr::memory_resource* arena);

  Result<MachineCode> run();

 private:
  void select();
  Block body(std::uint32_t copies, bool masked) {
    return small_.any() ? small_.select_body(copies, masked) : selector_.select_body(copies, masked);
  }
  /// Returns whether the last elements are done in wider lanes than the others.
  [[nodiscard]] bool widens() const { return small_.any() && !target_.avx512; }
  /// Returns the elements of a vector of the main loop.
  [[nodiscard]] std::uint32_t lanes() const { return small_.any() ? small_.lanes() : target_.lanes; }

  void select_reductions();
  void schedule_loops();
  void allocate();
  [[nodiscard]] bool uses_param_memory() const;
  void emit();
  void enter();
  void exit();

  /// Emits `stage` while `step` elements are left, from the index on.
  void loop(const Stage& stage, std::uint32_t step, bool first);
  void loops();
  /// Returns whether the main loop is so short that its stores decide how long it takes.
  [[nodiscard]] bool waits_for_stores();
  [[nodiscard]] bool has_far_loop() const { return !far_.block.insts.empty() && emitter_.fetches_outputs(); }
  /// Emits the loop for calls whose arrays leave the first-level cache: it fetches the lines that it is going to write.
  /// Stores of whole vectors wait for such lines one after another, most of all those that cross lines.
  void far_loop();
  /// Emits the elements from the index up to `rsi`, fewer than a vector.
  void last_elements();
  void count_tail();
  static asmjit::x86::Mem word(const MemRef& slot) { return asmjit::x86::qword_ptr(asmjit::x86::rsp, slot.disp); }
  void block(const Stage& stage) { emitter_.block(stage.block, stage.placed); }

  /// Emits the loop over chunks. The frame keeps n and the number of the chunk's first element.
  void chunks();
  /// Emits the main loop; where a call reads more than caches near the core hold, one that fetches ahead. Processors do
  /// so themselves, but only as far as the end of a page.
  void main_loop_of_chunk();
  /// Emits the main loop of a chunk, up to rsi, by groups of columns (x86_reduce.h).
  void columns();
  /// Emits the end of a chunk that another follows: the trees join of which the chunk is the right end, and the
  /// greatest is kept. r11 is the number of the chunk.
  void keep_tree();
  /// Emits the end of the last chunk: all trees join, the smaller ones first.
  void join_all(const asmjit::Label& done);
  /// Emits the end of a chunk of a kernel that may end early: one tree has all chunks so far. Goes on with `next`.
  void end_or_leave(const asmjit::Label& next, const asmjit::Label& done);
  /// Emits the `rsi` elements from the index on, fewer than a vector, under masks.
  void tail();

  /// Emits the main loop with non-temporal stores, for calls that are long enough. Such stores must be aligned. So all
  /// outputs must be the same number of elements before a boundary, and those elements go first, under masks; otherwise
  /// the plain loop takes over. Ends at `done` with fewer than a step left. Not for kernels with reductions.
  void streaming_loop(const asmjit::Label& done);
  /// Emits the first elements of a part that may exit, whether it streams or not: where it exits must not depend on the
  /// length of the call, so steps have the same places in both loops. Goes to `plain` if it does not stream.
  void align_part(const asmjit::Label& plain);
  void find_boundary(const asmjit::Label& first_misaligned, const asmjit::Label& plain);
  [[nodiscard]] std::uint32_t stream_elements() const;
  /// Emits the elements before a boundary of the first output, under masks, for calls that are long enough. Stores of
  /// 64 bytes that cross lines take twice as long, and small lanes compute so little that it shows.
  void align_stores();
  void count_main_loop();
  void first_elements();

  Result<MachineCode> finish();

  const kir::Kernel& kernel_;
  const Variant& variant_;
  X86Target target_;
  Function function_;
  ConstantPool pool_;
  X86Selector selector_;
  X86SmallLanes small_;
  X86Emitter emitter_;
  UnwindWriter unwind_{UnwindHost{}};
  X86Environment environment_{emitter_, unwind_};
  X86Frame frame_{emitter_, unwind_};
  Stage prologue_, start_, main_, far_, parking_, rest_, wide_, tail_, whole_end_, chunk_end_, join_, decided_, keep_,
      epilogue_;
  MemRef count_slot_{}, chunk_slot_{}, column_slot_{};  ///< of kernels with reductions
  std::uint32_t vectors_ = 1;
  bool streams_ = false;
  bool aligns_parts_ = false;     ///< parts that may exit begin with the elements before a boundary
  bool fetches_ = false;          ///< loops fetch ahead
  bool copies_tail_ = false;      ///< the tail is the main loop's bytes with masks set, which saves making it
  std::uint32_t tail_lanes_ = 0;  ///< then, with AVX2: bytes of the lanes that are loaded or stored, added up
  MachineCode code_;
};

}  // namespace trident::codegen
