// Placed machine IR to bytes, through asmjit's Assembler: operands, constants, loads, stores, moves, and instructions
// that are asmjit's own. It knows neither kernels nor arrays: who emits resolves the places that are theirs, and hands
// over the one operand in memory that an instruction may have.
//
// Constants are [rip + disp32]: asmjit writes the raw displacement, and link() patches it once the pool's place is
// known. So constants need no labels, links or relocations.
#pragma once

#include <asmjit/x86.h>

#include <span>

#include "jit/codegen/codegen.h"
#include "jit/codegen/constant_pool.h"
#include "jit/codegen/unwind.h"
#include "jit/codegen/x86_target.h"
#include "runtime/base/result.h"

namespace trident::codegen {

namespace x86_gpr {
inline constexpr std::uint8_t kStack = 4;  // rsp
/// Returns the DWARF number of the register with this encoding.
inline constexpr std::uint8_t dwarf(std::uint8_t reg) {
  constexpr std::uint8_t kNumbers[] = {0, 2, 1, 3, 7, 6, 4, 5};
  return reg < 8 ? kNumbers[reg] : reg;
}
inline constexpr std::uint8_t kDwarfStack = dwarf(kStack);
}  // namespace x86_gpr

/// General registers in code that allocates them. Kernels give every register a purpose instead (x86_emit.h).
namespace x86_allocated {
inline constexpr std::uint8_t kScratch[] = {0, 2};  // rax, rdx: no value lives there between instructions
inline constexpr std::uint8_t kWindows = 6;         // rsi: second argument
inline constexpr std::uint8_t kFrame = 7;           // rdi: first argument, base of Place::frame
inline constexpr std::uint32_t kRegisters =
    0xFFFFu & ~(1u << kScratch[0] | 1u << kScratch[1] | 1u << x86_gpr::kStack | 1u << kWindows | 1u << kFrame);
inline constexpr std::uint8_t kVectorScratch = 15;
inline constexpr std::uint32_t kVectors = 0xFFFFu & ~(1u << kVectorScratch);  // no function keeps one for its caller
}  // namespace x86_allocated

class X86Writer {
 public:
  explicit X86Writer(const Function& function);

  asmjit::x86::Assembler& assembler() { return assembler_; }
  [[nodiscard]] std::uint32_t offset() const { return static_cast<std::uint32_t>(assembler_.offset()); }

  /// Returns the operand of a constant, whose offset link() resolves: [rip + pool + disp].
  asmjit::x86::Mem pool_operand(std::int32_t disp) const;
  /// Notes a use of the pool, after an instruction with a pool_operand; `immediate_bytes` follow the displacement.
  void note_pool_use(std::uint32_t immediate_bytes);
  /// Patches the pool's place into the code. False if asmjit refused an instruction, or a branch goes nowhere.
  [[nodiscard]] bool link(std::byte* code, std::uint32_t pool_offset) const;

  /// Returns the operand for a place in the pool or a frame, `width` bytes long.
  asmjit::x86::Mem memory(const MemRef& ref, std::uint8_t width);
  /// Returns the operand of `inst` that is in memory, if one is.
  asmjit::x86::Mem memory_operand(const MInst& inst, const Placed& placed);
  /// Emits an instruction that is no pseudo; `mem` is its operand in memory, if it has one. With a target, it is a
  /// comparison and the jump of its condition (an asmjit CondCode), or kIdJmp alone.
  void encode(const MInst& inst, const Placed& placed, const asmjit::x86::Mem& mem);
  /// Emits arithmetic on vectors of floats, in registers or with a constant, without asmjit (x86_vector_bytes.h).
  /// Returns false, with nothing done, for all else.
  bool encode_arithmetic(const MInst& inst, const Placed& placed);
  /// Emits a load, a store or a move that the allocator added; `mem` is its place, if it has one.
  void added(const Placed& placed, const asmjit::x86::Mem& mem);
  /// Returns the bytes that `placed` loads or stores.
  static std::uint8_t bytes_moved(const Placed& placed) {
    return placed.reg_class == RegClass::mask ? 2 : placed.width;
  }

  /// Says: `target` is here.
  void bind(Target target);
  void jump(Target target);

 protected:
  void zero(std::uint8_t reg);
  static asmjit::x86::Mem sized(asmjit::x86::Mem mem, const MemRef& ref, std::uint8_t width);
  static asmjit::Operand register_operand(RegClass reg_class, std::uint8_t width, std::uint8_t reg);
  /// `operands` has room for six; `immediate_bytes` of the encoding follow a displacement.
  void emit(std::uint32_t id, asmjit::Operand_* operands, std::size_t count, std::uint32_t immediate_bytes);
  void emit(std::uint32_t id, std::initializer_list<asmjit::Operand_> operands);
  /// Makes the next instruction, which is `id`, round to nearest and raise nothing. MXCSR still says what becomes of
  /// subnormals.
  void round_by_itself(std::uint32_t id);
  asmjit::Label label(Target target);
  /// Emits bytes of this code again; they hold no branches.
  void copy_code(std::uint32_t from, std::uint32_t to);

  const Function& f_;
  alignas(16) std::byte labels_memory_[4096];  ///< asmjit's first, which it need not ask for
  asmjit::CodeHolder code_;
  asmjit::x86::Assembler assembler_;
  bool failed_ = false;

 private:
  struct FusedOrder {
    std::uint32_t id_step;
    std::uint8_t second, third;
  };
  struct Operands {
    void add(const asmjit::Operand_& operand) { list[count++] = operand; }
    std::array<asmjit::Operand_, 6> list;
    std::size_t count = 0;
  };
  struct PoolUse {
    std::uint32_t field;  ///< offset of the disp32
    std::uint32_t end;    ///< of the instruction
  };
  static FusedOrder order_fused(const Placed& placed);
  static std::uint32_t load_id(const Placed& placed);
  static std::uint32_t store_id(const Placed& placed);
  static std::uint32_t move_id(RegClass reg_class);
  static asmjit::x86::Mem based(const MInst& inst, const Placed& placed);
  void add_uses(const MInst& inst, const Placed& placed, const asmjit::x86::Mem& mem, Operands& operands);
  asmjit::Operand_ use_operand(const MInst& inst, const Placed& placed, std::uint8_t use, const asmjit::x86::Mem& mem);

  bool pool_use_ = false;  ///< the operands of the instruction at hand name the pool
  std::pmr::vector<PoolUse> pool_uses_;
  std::pmr::vector<asmjit::Label> labels_;  ///< by target
};

/// Puts the code that `writer` has written, its constants and its unwind records into `code`. LimitExceeded when they
/// take more than an image may; the error names `what`, such as "kernel".
Result<void> lay_out(X86Writer& writer, const ConstantPool& pool, UnwindWriter& unwind, const char* what,
                     MachineCode& code);

}  // namespace trident::codegen
