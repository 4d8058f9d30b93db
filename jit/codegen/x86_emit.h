// Writes kernels: a writer that knows the arrays and parameters of a kernel, its pseudo instructions, its rare cases
// and its tail.
//
// Arrays are [pointer + index * lane bytes + disp] with one shared element index; pointers without a register are
// loaded into a scratch register at each use.
#pragma once

#include "jit/codegen/x86_writer.h"
#include "jit/kir/kir.h"

namespace trident::codegen {

/// General registers by purpose, beside the stack pointer.
namespace x86_gpr {
inline constexpr std::uint8_t kIndex = 0;     // rax
inline constexpr std::uint8_t kOutputs = 1;   // rcx: the table of output pointers
inline constexpr std::uint8_t kInputs = 2;    // rdx
inline constexpr std::uint8_t kFrame = 5;     // rbp
inline constexpr std::uint8_t kCount = 6;     // rsi: n
inline constexpr std::uint8_t kLimit = 7;     // rdi: `self` is not read; while trees are joined, bytes of their level
inline constexpr std::uint8_t kParams = 8;    // r8
inline constexpr std::uint8_t kScratch = 11;  // r11
}  // namespace x86_gpr

class X86Emitter : public X86Writer {
 public:
  X86Emitter(const kir::Kernel& kernel, const X86Target& target, const Function& function,
             const std::pmr::vector<X86StridedRead>& strided_reads);

  /// Distributes general registers to array pointers; `uses_param_memory` keeps the parameters' table.
  void assign_pointers(bool uses_param_memory, std::uint64_t live_inputs);
  /// Returns the callee-saved registers that assign_pointers took.
  [[nodiscard]] std::span<const std::uint8_t> saved_registers() const { return {saved_.data(), saved_count_}; }
  void load_pointers();
  [[nodiscard]] std::uint8_t pointer_of(Place place, std::uint32_t index) const;

  /// Loads constants and parameters that live in registers.
  void load_globals();
  void block(const Block& block, std::span<const Placed> placed);
  /// Does as block(), and remembers the accesses to arrays and partial results, for masked_copy(). It holds one vector;
  /// nothing in it may branch, fold an array access or read an array element again.
  void recorded_block(const Block& block, std::span<const Placed> placed);
  /// Emits the recorded block again, with its accesses under masks: opmask kTailMask with AVX-512,
  /// tail_mask_register() with AVX2.
  void masked_copy();
  static constexpr std::uint8_t kTailMask = 1;
  /// Loads the mask of the elements left into its register (AVX2; see X86Pseudo::tail_mask).
  void load_tail_mask(std::uint32_t lane_bytes);
  static constexpr std::uint8_t tail_mask_register(std::uint32_t lane_bytes) { return lane_bytes == 4 ? 15 : 14; }
  /// Returns the middle of a table in `pool`: ones before, zeros after, as many 8-byte lanes of each as a vector has
  /// lanes (AVX2).
  [[nodiscard]] std::int32_t mask_table(ConstantPool& pool) const;
  /// Sets `elements` to the number of an output's elements that stand before a boundary of `vector` elements. Branches
  /// to `misaligned` where elements cross it.
  void elements_to_boundary(const asmjit::x86::Gp& elements, std::uint32_t output, std::uint32_t vector,
                            const asmjit::Label& misaligned);
  /// Sets whether array stores go past the caches.
  void set_non_temporal(bool on) { non_temporal_ = on; }
  /// Emits fetches of what a step of `elements` will read from arrays, a page ahead.
  void fetch_ahead(std::uint32_t elements);
  /// Returns the bytes that an element reads from arrays whose pointers have registers.
  [[nodiscard]] std::uint32_t fetched_bytes() const;
  /// Emits fetches of lines that later steps of `elements` will write.
  void fetch_outputs(std::uint32_t elements);
  /// Returns whether there are such lines: of arrays whose pointers have registers.
  [[nodiscard]] bool fetches_outputs() const;
  /// Returns the bytes that an element reads from and writes to arrays.
  [[nodiscard]] std::uint32_t moved_bytes() const;
  /// Emits the code that blocks branch to in rare cases; a jump skips it when reached from above.
  void rare_cases();
  /// Says: kernels that stop at their exit go on here. The index is the number of elements that are done.
  void bind_exit() { assembler_.bind(exit_); }

 private:
  void inst(const MInst& inst, const Placed& placed);
  void pseudo(const MInst& inst, const Placed& placed);
  void move_home(const Placed& placed);
  /// Returns the operand for any place; may load an array's pointer first.
  asmjit::x86::Mem kernel_memory(const MemRef& ref, std::uint8_t width);
  asmjit::x86::Mem array_element(const MemRef& ref);
  asmjit::x86::Mem partial_result(const MemRef& ref);
  /// Returns the operand of `inst` that is in memory, if one is.
  asmjit::x86::Mem memory_operand(const MInst& inst, const Placed& placed);
  void record(const MInst& inst, const Placed& placed);
  struct StridedEdge {  ///< a vector of a strided load that does not lie inside the table
    asmjit::Label entry, back;
    const X86StridedRead& read;
    std::uint8_t def, width;
  };
  void divide_if(const MInst& inst, const Placed& placed);
  void leave_if(const MInst& inst, const Placed& placed);
  // x86_scale.cpp
  struct ScaledApart {  ///< a vector of results that may underflow
    asmjit::Label entry, back;
    MInst inst;
    Placed placed;
  };
  void scale_apart(const MInst& inst, const Placed& placed);
  void scaled_apart(const ScaledApart& rare);
  // x86_tables.cpp
  void position(const MInst& inst, const Placed& placed);
  void table_bound(const MInst& inst, const Placed& placed);
  void table_limits(const MInst& inst);
  void gather(const MInst& inst, const Placed& placed);
  void ones(RegClass reg_class, std::uint8_t width, std::uint8_t reg);
  void clamped_length(std::uint32_t param);
  asmjit::x86::Mem word(const MemRef& slot, std::int32_t disp);
  void strided(const MInst& inst, const Placed& placed);
  void strided_inside(const MInst& inst, const Placed& placed, const X86StridedRead& read);
  void strided_edge(const StridedEdge& edge);
  void move_elements(const MInst& inst, const Placed& placed);  // x86_elements.cpp
  void masked_copy_avx512();
  void masked_copy_avx2();

  const kir::Kernel& kernel_;
  const X86Target& target_;
  bool non_temporal_ = false;

  struct RareCase {
    asmjit::Label entry, back;
    std::uint8_t how;  ///< x86_exact
    bool narrow;       ///< f32
    asmjit::Operand def;
    std::array<asmjit::Operand, 2> operands;
    asmjit::Operand mask, work;  ///< if doubtful lanes alone are to be exact
  };
  void rare_case(const RareCase& rare);
  struct MaskedAccess {
    std::uint32_t at, end;  ///< of the instruction
    bool load;
    std::uint8_t reg, width;  ///< loaded or stored
    MemRef mem;
  };
  std::pmr::vector<RareCase> rare_cases_;
  std::pmr::vector<ScaledApart> scaled_apart_;
  std::pmr::vector<MaskedAccess> accesses_;
  const std::pmr::vector<X86StridedRead>& strided_reads_;
  std::pmr::vector<StridedEdge> strided_edges_;
  asmjit::Label exit_;
  bool recording_ = false;
  std::uint32_t recorded_from_ = 0, recorded_to_ = 0;
  std::pmr::vector<std::uint8_t> pointers_;  ///< inputs, then outputs
  std::array<std::uint8_t, 5> saved_{};
  std::size_t saved_count_ = 0;
};

}  // namespace trident::codegen
