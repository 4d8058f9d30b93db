// Elements of the stack that wait in RAM, so that one far below them comes within reach of the registers.
//
// Only the order of what is on the stack and in RAM is known, not values: the model is the list of elements, the top
// last, each with the tick of its last use and, if it waits in RAM, its address. What is on the stack is in the list's
// order, so that restoring is putting each element back where it was.
//
//   logical    a b c d .. q        dup 16 wants a: too deep
//   spill c    a b - d .. q        the least recently used that can be reached: pick, push address, write_mem 1, pop 1
//   then       dup 15
//
// A straight-line piece ends with everything back: what others find on the stack never differs. Addresses are used
// again once their element is back.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "jit/tir/tasm/instruction.h"

namespace trident::tir::lowering {

class Spilling {
 public:
  /// Appends to `out`, which must outlive it; addresses from `base`.
  Spilling(std::vector<tasm::Instruction>& out, tasm::Element base) : out_(out), base_(base) {}

  /// Copies st[depth] to the top; any depth.
  void dup(std::uint64_t depth);
  /// Exchanges st0 and st[depth].
  void swap(std::uint64_t depth);
  void pop(std::uint64_t count);
  /// Before an operation that takes and gives so many elements at the top: all that it takes is there.
  void apply(std::uint64_t takes, std::uint64_t gives);
  /// Puts everything back.
  void restore();
  /// Nothing is known of the stack from here on. Everything must be back.
  void forget();

 private:
  static constexpr std::uint64_t kOnStack = UINT64_MAX;
  struct Slot {
    std::uint64_t used = 0;
    std::uint64_t address = kOnStack;  ///< relative to base_
    [[nodiscard]] bool on_stack() const { return address == kOnStack; }
  };

  void emit(tasm::Op op, std::uint64_t argument = 0) { out_.push_back({op, tasm::Element(argument)}); }
  [[nodiscard]] Slot& slot(std::uint64_t depth);
  [[nodiscard]] std::uint64_t depth_on_stack(std::uint64_t depth) const;
  /// An operation looks at `takes` elements, leaves `gives` instead, and what it does to the stack must not take it
  /// below the registers that the machine has at least: what waits in RAM is no part of it.
  void know(std::uint64_t takes, std::uint64_t gives);
  void touch(Slot& slot) { slot.used = ++tick_; }
  void reach(std::uint64_t depth, bool keep_top);
  void spill(std::uint64_t depth);
  void load(std::uint64_t address);

  std::vector<tasm::Instruction>& out_;
  tasm::Element base_;
  std::deque<Slot> slots_;  ///< the top last
  std::uint64_t tick_ = 0;
  std::vector<bool> taken_;  ///< addresses
  std::size_t spilled_ = 0;
  std::uint64_t height_ = tasm::kRegisters;  ///< the stack has at least as many elements, with those in RAM
};

}  // namespace trident::tir::lowering
