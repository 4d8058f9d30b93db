// Makes region code of AArch64 instructions, one at a time. The caller places blocks and jumps.
//
// Code is relative: the variable pc has the head's address, wherever the loop stands, until control leaves. An address
// in the code is pc plus a constant. So one region serves a loop at every address.
//
// Flags are kept as the operands of the instruction that set them last, and of which kind it was is known at every
// point: a condition needs one comparison, and NZCV is made only where control leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "jit/loop/aarch64/instruction.h"
#include "jit/region/builder.h"
#include "schemas/loop_image.h"

namespace trident::loop::aarch64 {

/// Byte offsets of the guest's state in a loop's frame, behind the head that every region's frame has.
inline constexpr std::uint32_t kXSlot = TRIDENT_AARCH64_FRAME_X;  ///< x0..x30, then sp
inline constexpr std::uint32_t kPcSlot = TRIDENT_AARCH64_FRAME_PC;
inline constexpr std::uint32_t kNzcvSlot = TRIDENT_AARCH64_FRAME_NZCV;
/// Homes of the flags' operands, which the caller of a loop does not look at.
inline constexpr std::uint32_t kFlagOperandsSlot = TRIDENT_AARCH64_FRAME_PRIVATE;
inline constexpr std::uint32_t kFrameBytes = TRIDENT_AARCH64_FRAME_BYTES;
static_assert(kXSlot == region::kFrameHeadBytes && kPcSlot == kXSlot + 32 * 8 && kFrameBytes == kFlagOperandsSlot + 16);

/// The number of a base register that is the program counter, behind x0..x30 and sp.
inline constexpr std::uint8_t kPcBase = 32;
/// The home of a base register.
constexpr std::uint32_t base_slot(std::uint8_t base) {
  return base == kPcBase ? kPcSlot : kXSlot + 8u * base;
}

/// How an instruction reaches memory.
struct MemoryUse {
  std::uint8_t base = 0;   ///< the register that its addresses come from
  std::uint8_t bytes = 0;  ///< of the whole access
  bool stores = false;
};
/// Returns nothing for instructions that reach none.
std::optional<MemoryUse> memory_use(const Instruction& instruction);

/// How the flags follow from variables: from the variable nzcv, or as those of an addition, a subtraction or a logical
/// result of 32 or 64 bits. Of a subtraction that overwrites its first operand, `count` keeps the result instead: the
/// register has it, and a loop that counts down needs nothing more.
enum class Flags : std::uint8_t { nzcv, add32, add64, sub32, sub64, logic32, logic64, count32, count64 };

class Lifter {
 public:
  /// Both are called while an instruction is lifted: the window for its accesses by a base register, and the block for
  /// those that miss.
  struct Targets {
    std::function<std::uint32_t(std::uint8_t base)> window;
    std::function<std::uint32_t()> miss;
  };
  /// Appends to `region` through `builder`. `head` is the address that pc has at entry.
  Lifter(region::Region& region, region::Builder& builder, std::uint64_t head, Targets targets);

  /// The kind of flags at this point.
  [[nodiscard]] Flags flags() const { return flags_; }
  void set_flags(Flags flags) { flags_ = flags; }

  /// Lifts any instruction but a branch.
  void lift(const Instruction& instruction, std::uint64_t address);
  /// The condition, an i32, under which a branch other than b is taken.
  region::Value taken(const Instruction& branch);
  /// Makes the variable nzcv hold the flags.
  void settle_flags();
  /// Makes pc what the guest's is at `address`. Once, before control leaves.
  void set_pc(std::uint64_t address);
  /// Counts one of the budget; returns an i32 that is 0 when nothing is left.
  region::Value spend();

 private:
  using Value = region::Value;
  using Op = region::Op;
  using Type = region::Type;
  /// The four flags, each an i32 of 0 or 1.
  struct FourFlags {
    Value n, z, c, v;
  };
  struct Access {
    Value place, next_base;
  };

  // Registers.
  std::uint32_t variable(std::string name, Type type, std::uint32_t slot, bool scratch = false);
  std::uint32_t flag_operand(unsigned number);
  std::uint32_t register_variable(unsigned number);
  Value x(unsigned number);        ///< 31 is zero
  Value x_or_sp(unsigned number);  ///< 31 is the stack pointer
  Value read(unsigned number, bool is64);
  Value read_or_sp(unsigned number, bool is64);
  void write(unsigned number, Value value);  ///< 31 discards; an i32 is zero-extended
  void write_or_sp(unsigned number, Value value);
  Value constant(bool is64, std::uint64_t bits) { return builder_.constant(is64 ? Type::i64 : Type::i32, bits); }
  Value op(Op o, Value a, Value b = {}, Value c = {}) { return builder_.op(o, a, b, c); }
  Value op_with(Op o, Value a, std::uint64_t bits) { return builder_.op_with(o, a, bits); }
  Value low(Value v, bool is64) { return is64 ? v : op(Op::Trunc, v); }
  Value wide(Value v);
  Value address_of(std::uint64_t address);  ///< an address in the code

  // lift_integer.cpp
  void address(const Instruction& i, std::uint64_t at);
  void add(const Instruction& i);
  void logic(const Instruction& i);
  void move_wide(const Instruction& i);
  void bitfield(const Instruction& i);
  void extract(const Instruction& i);
  void add_carry(const Instruction& i);
  void conditional_compare(const Instruction& i);
  void conditional_select(const Instruction& i);
  void divide(const Instruction& i);
  void shift(const Instruction& i);
  void reverse(const Instruction& i);
  void count_bits(const Instruction& i);
  void multiply(const Instruction& i);
  void multiply_long(const Instruction& i);
  void multiply_high(const Instruction& i);
  Value shifted(const Instruction& i);
  Value extended(Value wide, Extend extend, unsigned amount, bool is64);
  Value second_operand(const Instruction& i);
  Value swapped_bytes_of_halves(Value v, bool is64);

  // lift_memory.cpp
  void load(const Instruction& i, std::uint64_t at);
  void store(const Instruction& i);
  void load_pair(const Instruction& i);
  void store_pair(const Instruction& i);
  Access access(const Instruction& i, unsigned bytes);
  void write_back(const Instruction& i, const Access& access);
  Value loaded(const Instruction& i, Value place, unsigned displacement);

  // lift_flags.cpp
  void keep_flags(Flags kind, Value a, Value b);
  Value as_flag_operand(Value v);
  FourFlags four_flags();
  FourFlags flags_of_nzcv();
  FourFlags flags_of_sum(Value a, Value b);
  FourFlags flags_of_difference(Value a, Value b);
  FourFlags flags_of_logic(Value result);
  Value packed(const FourFlags& flags);
  Value condition(unsigned code);
  Value condition_of_count(unsigned code);
  Value condition_of_difference(unsigned code, Value a, Value b);
  Value condition_of(unsigned code, const FourFlags& flags);
  Value operand(unsigned number, bool is64);
  Value inverted(Value condition);

  region::Region& region_;
  region::Builder& builder_;
  std::uint64_t head_;
  Targets targets_;
  Flags flags_ = Flags::nzcv;
};

}  // namespace trident::loop::aarch64
