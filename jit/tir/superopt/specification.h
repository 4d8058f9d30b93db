// Specifies a straight-line block without its order: values, the tasks that make or use them, and the
// final stack.
//
//   dup 0 push 3 mul swap 1 addi 2      values  a (found at st0), 3, a*3, a+2
//                                       tasks   mul: takes a, 3; gives a*3
//                                       stack   .. a*3 a+2
//
// Values that differ by a constant have one base, so that a pointer behind a read becomes the next one by `addi`, and
// words of RAM at different offsets from one base are known to be different. Instructions that take several words are
// single words here; neighbours are joined again afterwards. Equal computations are one task; one that is not
// used and cannot fail is dropped; a word that was just stored is not read.
//
// A rewriting here is a proposal, never a proof: jit/tir/equiv decides on the results.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jit/tir/tasm/instruction.h"

namespace trident::tir::superopt {

using tasm::Element;
using tasm::Instruction;

/// Index of a value.
using Id = std::uint8_t;
inline constexpr std::size_t kValuesMax = 250, kTasksMax = 64, kStackMax = 48;

struct Value {
  Id base;  ///< itself, or the base of a sum with a constant; kConstants for constants
  Element offset;
  bool u32 = false;  ///< known to be below 2^32 wherever the block does not fail
};
/// Base of all constants: a value that is 0.
inline constexpr Id kConstants = 0;

/// An instruction with its values.
struct Task {
  Instruction instruction;
  std::vector<Id> takes, gives;  ///< the top first
  bool commutes = false;         ///< its two operands may be exchanged
  std::uint64_t after = 0;       ///< tasks that must be done before, as bits
};

struct Specification {
  std::vector<Value> values;
  std::vector<Task> tasks;        ///< all are to be done once
  std::vector<Id> before, after;  ///< the stack, bottom first, as far down as the block reaches
  std::uint32_t lowest = 0;       ///< least height of the stack, counted from the bottom of `before`
};

/// Returns none if the block needs more than the limits above.
std::optional<Specification> specify(std::span<const Instruction> block);

}  // namespace trident::tir::superopt
