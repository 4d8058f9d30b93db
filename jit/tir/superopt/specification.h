// What a straight-line block must do, without saying in which order: values, the tasks that make or use them, and the
// stack that is to be left.
//
//   dup 0 push 3 mul swap 1 addi 2      values  a (found at st0), 3, a*3, a+2
//                                       tasks   mul: takes a, 3; gives a*3
//                                       stack   .. a*3 a+2
//
// Values that differ by a constant have one base, so that a pointer behind a read becomes the next one by `addi`, and
// words of RAM at different offsets from one base are known to be different. Instructions that take several words are
// single words here; neighbours are put together again afterwards. What is computed twice is one task; what nobody
// uses and cannot fail is none; a word that was just stored is not read.
//
// Rewriting here is a proposal, never a proof: jit/tir/equiv decides on what comes of it.
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
  Id base;  ///< itself, but for sums with a constant; kConstants for constants
  Element offset;
  bool u32 = false;  ///< known to be below 2^32 wherever the block does not fail
};
/// The base of all constants: a value that is 0.
inline constexpr Id kConstants = 0;

/// An instruction on values.
struct Task {
  Instruction instruction;
  std::vector<Id> takes, gives;  ///< the top first
  bool commutes = false;         ///< the two that it takes may be exchanged
  std::uint64_t after = 0;       ///< tasks, as bits, that must be done before
};

struct Specification {
  std::vector<Value> values;
  std::vector<Task> tasks;        ///< all are to be done once
  std::vector<Id> before, after;  ///< the stack, bottom first, as far down as the block reaches
  std::uint32_t lowest = 0;       ///< how few elements of `before` and what is pushed the block ever has
};

/// None when the block needs more than the limits above.
std::optional<Specification> specify(std::span<const Instruction> block);

}  // namespace trident::tir::superopt
