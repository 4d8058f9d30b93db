// Placed machine IR to bytes on AArch64, through asmjit's Assembler.
//
// Every array has a pointer that advances with the loop, in a register or, when those run out, in the frame; elements
// are addressed by immediate offsets from it. Constants are loaded relative to the program counter.
#pragma once

#include <asmjit/arm/a64assembler.h>

#include <span>

#include "jit/codegen/a64_select.h"

namespace trident::codegen {

inline constexpr std::uint32_t kBtiC = 0xD503'245F;  // "hint #34" where branch targets are not checked

/// General registers by purpose. x18 belongs to the platform; x29 and x30 keep the caller's frame.
namespace a64_gpr {
inline constexpr std::uint8_t kResult = 0;  // of kernels with an exit: n, in the end the elements that are done
inline constexpr std::uint8_t kCount = 1;   // n, then the elements left
inline constexpr std::uint8_t kInputs = 2;
inline constexpr std::uint8_t kOutputs = 3;
inline constexpr std::uint8_t kParams = 4;
inline constexpr std::uint8_t kScratch = 16, kPointer = 17;
inline constexpr std::uint8_t kStack = 31;
}  // namespace a64_gpr

class A64Emitter {
 public:
  A64Emitter(const kir::Kernel& kernel, const Function& function, bool all_registers);

  /// Gives the arrays that `blocks` touch pointers; those without a register stand in the frame from `frame_offset`
  /// on. Returns the frame bytes that takes.
  std::uint32_t assign_pointers(std::span<const Block* const> blocks, std::uint32_t frame_offset);
  void load_pointers();
  /// Advances the array pointers by `elements`.
  void advance_pointers(std::uint32_t elements);
  /// Sets where the frame holds the number of elements that the counter began with (Place::partial).
  void set_length_slot(const MemRef& slot) { length_slot_ = slot; }
  void load_globals();
  void block(const Block& block, std::span<const Placed> placed);
  /// Sets where the exits of the blocks that follow go.
  void set_exit(const asmjit::Label& exit) { exit_ = exit; }

  /// Returns the callee-saved registers in use: x19.., and those among v8 to v15 that `placed` and the globals use.
  [[nodiscard]] std::span<const std::uint8_t> saved_general() const { return {saved_.data(), saved_count_}; }
  [[nodiscard]] std::vector<std::uint8_t> saved_vectors(std::span<const std::span<const Placed>> blocks) const;
  /// Returns the operand of a place in the frame; may take kScratch.
  asmjit::a64::Mem frame_operand(std::uint32_t disp, std::uint32_t size);
  /// Adds `amount` (which may be negative) to `reg` or moves it from `from`.
  void add(std::uint8_t reg, std::uint8_t from, std::int64_t amount);

  asmjit::a64::Assembler& assembler() { return assembler_; }
  [[nodiscard]] std::uint32_t offset() const { return static_cast<std::uint32_t>(assembler_.offset()); }
  /// Appends the pool at the next multiple of 64 and binds the references to it. Returns the pool's offset.
  std::uint32_t finish(std::span<const std::uint8_t> pool);
  [[nodiscard]] std::span<const std::uint8_t> bytes() const;
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  struct Pointer {
    bool used = false;
    std::uint8_t reg = kNoReg;
    std::uint32_t slot = 0;  ///< frame offset when there is no register
    std::uint32_t lane_bytes = 0;
  };

  [[nodiscard]] std::size_t pointer_number(const MemRef& ref) const;
  /// Returns the machine's register number for one of the allocator's. The allocator hands out rising numbers; v8 to
  /// v15, which would have to be saved, come last.
  [[nodiscard]] std::uint8_t machine_register(std::uint8_t reg) const;
  [[nodiscard]] asmjit::a64::Vec whole(std::uint8_t reg, std::uint8_t width) const;
  [[nodiscard]] asmjit::a64::Vec lanes(std::uint8_t reg, std::uint8_t width, std::uint8_t lane_bytes) const;
  asmjit::a64::Mem memory(const MemRef& ref, std::uint32_t size);
  asmjit::a64::Mem partial_result(const MemRef& ref);
  void inst(const MInst& inst, const Placed& placed);
  void pseudo(const MInst& inst, const Placed& placed);
  void gather(const MInst& inst, const Placed& placed);
  void lookup(const MInst& inst, const Placed& placed);
  void leave_if(const MInst& inst, const Placed& placed);
  void move_memory(bool is_load, std::uint8_t reg, std::uint8_t width, const MemRef& ref);
  void load(const Placed& placed);
  void check(asmjit::Error error) { failed_ |= error != asmjit::kErrorOk; }

  const kir::Kernel& kernel_;
  const Function& f_;
  asmjit::CodeHolder code_;
  asmjit::a64::Assembler assembler_;
  asmjit::Label pool_, exit_;
  bool all_registers_ = false;
  bool failed_ = false;
  std::pmr::vector<Pointer> pointers_;  ///< inputs, outputs
  MemRef length_slot_{};
  std::array<std::uint8_t, 10> saved_{};
  std::size_t saved_count_ = 0;
};

}  // namespace trident::codegen
