// Reductions: the one order in which elements become a result. Machine code of every host, the interpreter and the
// checks follow it, so that the result depends on nothing but the elements and their number.
//
//   element i of a chunk joins partial result i mod W      W: partial results of kPartialBytes; a chunk: kChunk
//   elements partial j joins partial j + s for s = W/2, .. 2, 1     at the end of a chunk; the result is partial 0
//   chunk results join like the digits of a binary counter
//
//   chunks     0   1   2   3   4   5   6           seven chunks: the trees are the bits of 7
//              +---+   +---+   +---+   |
//                +-------+       |     |
//                    |           +-----+           then from the last tree to the first
//                    +--------------+
//
// Many partial results keep several vectors in flight and each of them short; the counter keeps the error of a long sum
// near that of pairwise addition. Any run of chunks can be reduced by itself: the trees that lie inside it are the same
// as those of the whole (ChunkRun), so a reduction may be split between threads at any chunk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "jit/kir/kir.h"
#include "runtime/base/check.h"

namespace trident::kir {

inline constexpr std::uint64_t kChunk = 4096;         ///< elements
inline constexpr std::size_t kPartialBytes = 256;     ///< of the partial results of one reduction
inline constexpr std::size_t kChunkLevels = 64 - 12;  ///< sizes of trees: no call has 2^kChunkLevels chunks
static_assert(kChunk == std::uint64_t{1} << (64 - kChunkLevels));

constexpr std::size_t partials_of(Type type) {
  return kPartialBytes / ir::bytes_of(type);
}
static_assert(kChunk % partials_of(Type::f32) == 0 && kChunk % partials_of(Type::f64) == 0);

inline bool is_reduction(const Inst& inst) {
  return info(inst.op).signature == Signature::Reduce;
}

/// Returns the op that joins an earlier value with a later one: joined = op(later, earlier). An element of Dot joins
/// its partial result otherwise: joined = fma(a, b, earlier). Min and max are ops that
/// yield their second operand where either is NaN and of two zeros: so NaN is left out, and the earlier zero stays.
constexpr Op joining_op(Op reduction) {
  if (reduction == Op::Sum || reduction == Op::Dot) return Op::Add;
  if (reduction == Op::Prod) return Op::Mul;
  return reduction == Op::MinOf ? Op::Min : Op::Max;
}

constexpr std::uint64_t one_bits(Type type) {
  return type == Type::f32 ? 0x3F80'0000u : type == Type::f64 ? 0x3FF0'0000'0000'0000u : 1u;
}

/// Returns the bits of the value that a partial result starts from: 0, 1, or a value that every number replaces.
inline std::uint64_t start_bits(Op reduction, Type type) {
  if (reduction == Op::Sum || reduction == Op::Dot) return 0;
  if (reduction == Op::Prod) return one_bits(type);
  const bool least = reduction == Op::MaxOf;
  switch (type) {
    case Type::f32: return least ? 0xFF80'0000u : 0x7F80'0000u;
    case Type::f64: return least ? 0xFFF0'0000'0000'0000u : 0x7FF0'0000'0000'0000u;
    case Type::i32: return least ? 0x8000'0000u : 0x7FFF'FFFFu;
    case Type::i64: return least ? 0x8000'0000'0000'0000u : 0x7FFF'FFFF'FFFF'FFFFu;
    case Type::b32:
    case Type::b64: break;
  }
  CHECK(false);
}

/// Joins the partial results of a chunk; partial 0 becomes the chunk's result. `join(earlier, later)` joins two values.
template <class T, class Join>
T joined_partials(T* partials, std::size_t count, Join join) {
  for (std::size_t s = count / 2; s != 0; s /= 2)
    for (std::size_t j = 0; j < s; ++j) partials[j] = join(partials[j], partials[j + s]);
  return partials[0];
}

/// The results of a run of neighbouring chunks, as those of the greatest trees that lie inside it: at most two of each
/// size. Runs that are reduced apart give the same bits as one run once they are appended in order.
template <class T>
class ChunkRun {
 public:
  explicit ChunkRun(std::uint64_t first_chunk = 0) : next_(first_chunk) {}

  /// Takes the result of the next chunk.
  template <class Join>
  void add(T result, Join join) {
    push(result, 0, join);
  }

  /// Takes the chunks of `later`, which begins where this run ends.
  template <class Join>
  void append(const ChunkRun& later, Join join) {
    for (std::size_t i = 0; i < later.size_; ++i) push(later.trees_[i], later.levels_[i], join);
  }

  /// Returns the result of a run that begins at chunk 0 and has at least one chunk.
  template <class Join>
  [[nodiscard]] T result(Join join) const {
    CHECK(size_ != 0);
    T value = trees_[size_ - 1];
    for (std::size_t i = size_ - 1; i-- > 0;) value = join(trees_[i], value);
    return value;
  }

 private:
  // A tree is the right half of a greater one if the bit of its size is set in the number of its first chunk; its left
  // half is the tree before, unless that lies outside the run.
  template <class Join>
  void push(T tree, std::uint8_t level, Join join) {
    std::uint64_t first = next_;
    next_ += std::uint64_t{1} << level;
    for (; size_ != 0 && levels_[size_ - 1] == level && (first >> level & 1) != 0; ++level) {
      tree = join(trees_[--size_], tree);
      first -= std::uint64_t{1} << level;
    }
    CHECK(size_ < trees_.size());
    trees_[size_] = tree;
    levels_[size_++] = level;
  }

  std::uint64_t next_;  ///< the number of the chunk after the run
  std::size_t size_ = 0;
  std::array<T, 2 * kChunkLevels> trees_{};
  std::array<std::uint8_t, 2 * kChunkLevels> levels_{};
};

}  // namespace trident::kir
