// Instructions of Triton VM: the rows of instructions.def, found by op, opcode or name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/field/element.h"

namespace trident::tir::tasm {

using field::Element;

/// Ops, in the order of instructions.def.
enum class Op : std::uint8_t {
#define X(name, ...) k##name,
#include "jit/tir/tasm/instructions.def"
#undef X
};

inline constexpr std::size_t kOpCount =
#define X(...) 1 +
#include "jit/tir/tasm/instructions.def"
#undef X
    0;
static_assert(kOpCount == 48);
/// Number of ops per machine. Where a machine has another instruction at an opcode, kOpCount counts both.
inline constexpr std::size_t kOpsPerVm = 46;

/// Machines that programs are for.
enum class Vm : std::uint8_t { released, next };
inline constexpr std::string_view kVmNames[] = {"7", "next"};  ///< 1.0.0 to 7.0.0, and the one after them
/// Machines that have an instruction: a bit per machine.
enum Vms : std::uint8_t { kReleased = 1, kNext = 2, kEvery = 3 };

/// Kind of an instruction's second word; `none` has only one word.
enum class Argument : std::uint8_t { none, element, count, index, label };
inline constexpr std::uint64_t kCountMin = 1, kCountMax = 5;  ///< for counts of words
inline constexpr std::uint64_t kIndexMax = 15;                ///< for a register
/// Least number of elements on the stack, st0 to st15.
inline constexpr std::size_t kRegisters = 16;

/// Effects of an instruction besides the stack. An unused result may be dropped only if kPure and not
/// kMayFail.
enum Effects : std::uint16_t {
  kPure = 0,
  kControl = 1,
  kAsserts = 2,  ///< fails by intent
  kMayFail = 4,  ///< fails outside its domain; a stack that is too shallow does not count
  kReadsRam = 8,
  kWritesRam = 16,
  kSecret = 32,  ///< takes from secret input
  kPublicInput = 64,
  kPublicOutput = 128,
  kSponge = 256,
};

/// Number of elements, words or rows: fixed + per_argument * the argument.
struct Amount {
  std::uint8_t fixed = 0, per_argument = 0;
  [[nodiscard]] constexpr std::uint32_t of(std::uint64_t argument) const {
    return fixed + per_argument * static_cast<std::uint32_t>(argument);
  }
};

/// A row of instructions.def.
struct InstructionRow {
  std::string_view text;
  std::uint8_t opcode;
  std::uint8_t vms;
  Argument argument;
  Amount takes, gives;
  std::uint16_t effects;
  Amount ram;
  std::uint8_t hash_rows, u32_entries;
  std::string_view meaning;

  [[nodiscard]] constexpr bool is_of(Vm vm) const { return (vms >> static_cast<unsigned>(vm) & 1) != 0; }
  /// Returns its words in program memory.
  [[nodiscard]] constexpr std::uint32_t words() const { return argument == Argument::none ? 1 : 2; }
  /// Returns the change of the stack's height.
  [[nodiscard]] constexpr int stack_change(std::uint64_t n) const {
    return static_cast<int>(gives.of(n)) - static_cast<int>(takes.of(n));
  }
};

const InstructionRow& row(Op op);
/// Returns none if no instruction of the machine has the opcode or the name.
std::optional<Op> op_of_opcode(std::uint64_t opcode, Vm vm = Vm::released);
std::optional<Op> op_named(std::string_view text, Vm vm = Vm::released);
/// Returns the op of a released machine with the same opcode: itself, or the one that it replaced.
Op released_op(Op op);

/// One instruction of a program. The argument is the address of a label for `call`, and 0 if there is none.
struct Instruction {
  Op op = Op::kNop;
  Element argument;

  bool operator==(const Instruction&) const = default;
  [[nodiscard]] std::uint32_t words() const { return row(op).words(); }
  [[nodiscard]] int stack_change() const { return row(op).stack_change(argument_of_amounts()); }
  /// Returns the argument if amounts depend on it, else 0.
  [[nodiscard]] std::uint64_t argument_of_amounts() const {
    const Argument kind = row(op).argument;
    return kind == Argument::count || kind == Argument::index ? argument.value() : 0;
  }
};

/// True if an instruction of this kind may have `argument`.
bool legal_argument(Argument kind, Element argument);

}  // namespace trident::tir::tasm
