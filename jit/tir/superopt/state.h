// State of a search: the stack, as values, the finished tasks, and the way to it.
#pragma once

#include <cstdint>

#include "jit/tir/superopt/specification.h"

namespace trident::tir::superopt {

struct State {
  std::uint64_t done = 0;  ///< finished tasks, as bits
  Id stack[kStackMax];     ///< bottom first
  std::uint8_t size = 0;
  std::uint8_t run = 0;                   ///< number of words that the last instruction takes so far
  tasm::Op before_last = tasm::Op::kNop;  ///< nop if there was none
  Instruction last{tasm::Op::kNop, {}};   ///< nop if there was none
  bool was_lowest = false;                ///< the stack has been as low as the block's gets
  std::uint32_t parent = 0;               ///< number of its parent among the kept states
  float spent = 0;                        ///< cost of the instructions so far
  float left = 0;                         ///< cost of the instructions to come, by the heuristic
  float estimate = 0;                     ///< orders states with equally many instructions

  [[nodiscard]] Id st(std::size_t i) const { return stack[size - 1 - i]; }
  [[nodiscard]] std::uint64_t hash() const {
    std::uint64_t h = (done + 1) * 0x9e37'79b9'7f4a'7c15;
    h ^= was_lowest ? 0x9d6e'f916'a1f3'a7c5 : 0;
    for (std::size_t i = 0; i < size; ++i) h = (h ^ stack[i]) * 0x1000'0000'01b3;
    return h ^ h >> 29;
  }
};

}  // namespace trident::tir::superopt
