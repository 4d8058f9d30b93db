// Translates a straight-line block of TASM to a kir kernel over many stacks at once.
//
// The block is executed on values; its stack at the end becomes the kernel's outputs. Stacks lie as columns: one
// array of words for each cell, an element per stack. The block reaches `reach` cells deep and leaves `height` cells in
// their places; cell 0 is the deepest of them, so a cell keeps its number while the top moves.
//
//   before   [ cell 0 | cell 1 | ... | cell reach - 1 ] top        input i is cell reads[i]
//   after    [ cell 0 | cell 1 | ... | cell height - 1 ] top       output o is cell writes[o]; the last output: failed
//
// A cell that is in neither list is unchanged. Where a stack fails (the machine would end the run: an operand is
// not u32, a divisor is 0, an assertion does not hold ...), failed is 1 and its cells are unspecified; else it is 0.
#pragma once

#include <span>
#include <vector>

#include "jit/kir/kir.h"
#include "jit/tir/tasm/instruction.h"
#include "runtime/base/result.h"

namespace trident::tir::native {

/// Instruction set that a kernel is made for; both are right everywhere. AVX-512 compares unsigned integers directly,
/// and has the registers for several long chains side by side.
enum class Target : std::uint8_t { any, avx512 };

struct Translation {
  kir::Kernel kernel;  ///< passes kir::check; all arrays are of i64, and the words in them are below p
  std::uint32_t reach = 0, height = 0;
  std::vector<std::uint32_t> reads, writes;
  std::size_t size_min = 0;  ///< every stack with fewer elements fails before the block's end
};

/// Marks in `reads` the input that says which stacks failed before; it is not a cell.
inline constexpr std::uint32_t kFailedBefore = ~std::uint32_t{0};

/// True for instructions that can be translated: arithmetic, moves on the stack, assertions.
bool is_supported(tasm::Op op);

/// Errors: Unsupported with the name of an instruction that touches more than the stack; InvalidArgument for an
/// argument out of range; LimitExceeded if it takes more arrays than a kernel may have.
Result<Translation> translate(std::span<const tasm::Instruction> block, Target target = Target::any);

/// Translates the block in stages, cut at its inversions: between two stages the topmost cell of all stacks is to be
/// inverted, which costs less for many stacks at once than 72 products each; stacks whose cell is not in [1, p) fail.
/// A stage begins with as many cells as the one before has left; all but the first also read the failures so far. Their
/// cells are those of the whole block, and may be more than at its start and end. Empty if nothing is inverted.
/// Errors: those of translate(), as stages take arrays of their own.
Result<std::vector<Translation>> translate_stages(std::span<const tasm::Instruction> block, Target target);

}  // namespace trident::tir::native
