// Random straight-line blocks of every instruction, changed versions of them, and their texts, to test the equivalence
// with.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "jit/tir/equiv/state.h"

namespace trident::tir::equiv {

/// Makes a block of 1 to `length_max` instructions. Operands are often made fit (split before u32, constants before
/// comparisons and asserts, few addresses), so that many runs do not fail.
std::vector<Instruction> random_block(Random& random, std::size_t length_max);

/// Kind of change to a block.
enum class Change : std::uint8_t {
  sound,    ///< rewrites that keep its meaning, but for the depth of stack it needs
  careless  ///< also by deleting, exchanging, replacing and inserting instructions and by other arguments
};
std::vector<Instruction> changed(Random& random, std::span<const Instruction> block, Change change);

/// Prints a block in one line, for messages.
std::string text(std::span<const Instruction> block);

}  // namespace trident::tir::equiv
