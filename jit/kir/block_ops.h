// The block-wise interpreter's inner loops: one function per op and type, run over a few hundred elements at a time.
// block_ops.cpp is compiled once per level (instruction-set level of the machine); all levels give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jit/kir/interpreter.h"
#include "jit/kir/kir.h"

namespace trident::kir {

/// Blocks are multiples of this many elements, all of them defined; so are the arrays that hold them.
inline constexpr std::size_t kBlockGranule = 16;

/// Operands of one call. An operand is an array of `n` elements (index mask ~0), or one value repeated kBlockGranule
/// times (index mask 0): element i is read at i & mask. `n` is a multiple of kBlockGranule except for reductions.
/// `d` may be the same array as an operand of the same width.
struct BlockArgs {
  void* d = nullptr;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  std::size_t a_mask = 0, b_mask = 0, c_mask = 0;
  std::size_t n = 0;
  std::uint64_t first = 0;      ///< Index, Strided, reductions: number of the first element
  const void* table = nullptr;  ///< Gather, Strided: the table, whose length is in c
};

using BlockFn = void (*)(const BlockArgs&);

/// Returns the function for an op of signature Same, Compare, Select, Convert or Read, for Index, for Lookup (b is the
/// table, b_mask its size less one) and for reductions (d holds the partial results of reduction.h, read and written; a
/// the elements, b the other factors of Dot: exactly n of them are used, from a multiple of kBlockGranule on).
using FindBlockFn = BlockFn(Op op, Type result, Type operand);

/// Variants of block_ops.cpp, one per level.
FindBlockFn find_block_fn_portable;
#ifdef __x86_64__
FindBlockFn find_block_fn_avx2, find_block_fn_avx512;
#endif

}  // namespace trident::kir
