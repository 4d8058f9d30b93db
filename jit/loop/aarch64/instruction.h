// AArch64 instructions, as instructions.def lists them: decoded fields and text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trident::loop::aarch64 {

enum class Op : std::uint8_t {
#define X(name, pattern, mnemonic, format, lift) name,
#include "jit/loop/aarch64/instructions.def"
#undef X
};
/// Which operands an instruction has, and what of them is reserved.
enum class Format : std::uint8_t {
  None,
  PcRelative,
  AddImmediate,
  LogicalImmediate,
  MoveWide,
  Bitfield,
  Extract,
  ShiftedLogic,
  ShiftedAdd,
  ExtendedAdd,
  TwoSource,
  OneSource,
  ThreeSource,
  LongMultiply,
  HighMultiply,
  CompareRegister,
  CompareImmediate,
  Select,
  Jump,
  ConditionalJump,
  CompareJump,
  TestJump,
  Literal,
  UnsignedOffset,
  Unscaled,
  PostIndex,
  PreIndex,
  RegisterOffset,
  PairOffset,
  PairPostIndex,
  PairPreIndex,
};
/// Which function of the lifter makes region code of it.
enum class Lift : std::uint8_t {
  nothing,
  address,
  add,
  subtract,
  logic_and,
  logic_or,
  logic_xor,
  move_wide,
  bitfield,
  extract,
  add_carry,
  conditional_compare,
  conditional_select,
  divide,
  shift,
  reverse,
  count_bits,
  multiply,
  multiply_long,
  multiply_high,
  branch,
  load,
  store,
  load_pair,
  store_pair,
};

/// One row of instructions.def.
struct Row {
  Op op;
  std::string_view pattern;
  std::string_view mnemonic;
  Format format;
  Lift lift;
  std::uint32_t mask, fixed;  ///< a word is of this row when word & mask == fixed
};
inline constexpr std::uint32_t kRowCount = 0
#define X(...) +1
#include "jit/loop/aarch64/instructions.def"
#undef X
    ;
extern const std::array<Row, kRowCount> kRows;

/// Register number 31: the zero register, or the stack pointer where the operand is an address or the target of an
/// addition.
inline constexpr std::uint8_t kRegister31 = 31;

enum class Shift : std::uint8_t { lsl, lsr, asr, ror };
/// The `option` field of extended registers.
enum class Extend : std::uint8_t { uxtb, uxth, uxtw, uxtx, sxtb, sxth, sxtw, sxtx };

struct Instruction {
  const Row* row = nullptr;
  std::uint32_t word = 0;
  bool is64 = false;  ///< data registers are X, not W
  bool sets_flags = false;
  std::uint8_t d = 0, n = 0, m = 0, a = 0;  ///< register numbers; a load's or store's target is d, a pair's second is a
  std::uint8_t immr = 0, imms = 0;          ///< of bitfields; imms is also extr's position
  Shift shift = Shift::lsl;
  Extend extend = Extend::uxtx;
  std::uint8_t amount = 0;  ///< of shift or extension
  std::uint8_t condition = 0;
  std::uint8_t nzcv = 0;
  std::uint8_t bit = 0;    ///< of tbz and tbnz
  std::uint8_t bytes = 0;  ///< of one access
  bool is_signed = false;  ///< a load sign-extends
  /// Immediate operand, shifted and decoded: addend, bitmask, distance in bytes from this instruction (branches,
  /// literals, adr; adrp: from its page), offset in bytes (loads and stores).
  std::int64_t imm = 0;

  [[nodiscard]] Op op() const { return row->op; }
  [[nodiscard]] unsigned width() const { return is64 ? 64 : 32; }
};

/// Decodes one word. Returns nothing for words that no row describes and for those that the architecture reserves.
std::optional<Instruction> decode(std::uint32_t word);

/// Returns the 64-bit mask that N:immr:imms encode for registers of `width` bits; nothing when they are reserved.
/// Source: DecodeBitMasks, Arm Architecture Reference Manual (DDI 0487), appendix J1.
std::optional<std::uint64_t> bitmask(bool n, unsigned immr, unsigned imms, unsigned width);

/// Prints an instruction that stands at `address`, with the aliases that Capstone prints.
std::string print(const Instruction& instruction, std::uint64_t address);

}  // namespace trident::loop::aarch64
