// Spills elements of the stack to RAM, so that one far below them comes within reach of the registers.
//
// The model knows the order of elements on the stack and in RAM, not their values. It is a list of elements, the top
// last, each with the tick of its last use and, if it is in RAM, its address. Elements on the stack are in the list's
// order, so that restoring puts each element back in its place.
//
//   logical    a b c d .. q        dup 16 needs a: too deep
//   spill c    a b - d .. q        the least recently used within reach: pick, push address, write_mem 1, pop 1
//   then       dup 15
//
// A straight-line piece ends with everything restored, so other code finds the stack as without spilling. Addresses
// are used again once their element is back.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "jit/tir/tasm/instruction.h"

namespace trident::tir::lowering {

class Spilling {
 public:
  /// Appends to `out`, which must outlive this object; addresses start at `base`.
  Spilling(std::vector<tasm::Instruction>& out, tasm::Element base) : out_(out), base_(base) {}

  /// Copies st[depth] to the top; works at any depth.
  void dup(std::uint64_t depth);
  /// Exchanges st0 and st[depth].
  void swap(std::uint64_t depth);
  void pop(std::uint64_t count);
  /// Prepares for an operation that takes and gives so many elements at the top: restores all that it takes.
  void apply(std::uint64_t takes, std::uint64_t gives);
  /// Restores all spilled elements.
  void restore();
  /// Forgets all elements. Everything must be restored before.
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
  /// Accounts for an operation that looks at `takes` elements and leaves `gives`. Restores all first if the stack would
  /// get lower than the machine allows without the elements in RAM.
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
  std::uint64_t height_ = tasm::kRegisters;  ///< lower bound of the stack's height, with elements in RAM
};

}  // namespace trident::tir::lowering
