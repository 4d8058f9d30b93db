// Random straight-line blocks of every instruction, and changed versions of them: what the equivalence is tried on.
#pragma once

#include <vector>

#include "jit/tir/equiv/state.h"

namespace trident::tir::equiv {

/// Up to `length_max` instructions, at least one. Operands are often made fit (split before u32, constants before
/// comparisons and asserts, few addresses), so that many runs do not fail.
std::vector<Instruction> random_block(Random& random, std::size_t length_max);

/// How a block is changed.
enum class Change : std::uint8_t {
  sound,    ///< only by rewrites that keep what it does: the same, but for the stack's depth
  careless  ///< also by deleting, exchanging, replacing and inserting instructions and by other arguments
};
std::vector<Instruction> changed(Random& random, std::span<const Instruction> block, Change change);

}  // namespace trident::tir::equiv
