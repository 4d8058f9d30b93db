// The inner loops of an efficiently updatable network (NNUE): sums of int8 rows, an int32 accumulator, and the small
// int8 head behind it. Everything is integers, so every level gives the same bits in whatever order it adds.
//
//   rows (int8) --sum--> node vector (int16) --update--> accumulator (int32)
//   accumulator (+ a candidate's int16 delta) --pool--> 256 x 7 bits --head--> 32 --> one int32
//
// Bounds that keep this exact, which callers ensure: what one call sums has at most kRowsMax rows in it (a node vector
// counts as the rows that it is the sum of), so int16 holds it; pooled lanes lie in [0, 127], so two products of them
// with int8 weights fit int16 (AVX2's vpmaddubsw saturates).
//
// kernels.cpp is compiled once per level. Intrinsics rather than xsimd: loads that widen, packs and dot products, which
// is all there is, are not in xsimd 8.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/os/simd_level.h"

namespace trident::simd {

inline constexpr std::size_t kLanes = 256;   ///< of a row, a node vector, an accumulator
inline constexpr std::size_t kHidden = 32;   ///< of a head
inline constexpr std::size_t kScalars = 16;  ///< beside the accumulator, as a head sees them
inline constexpr std::size_t kRowsMax = 255;

struct alignas(64) NodeVector {
  std::int16_t lane[kLanes];
};
struct alignas(64) Accumulator {
  std::int32_t lane[kLanes];
};

/// The terms to add and to subtract. Row r begins at rows + r * kLanes, aligned to 64 bytes.
struct Terms {
  const std::int8_t* rows = nullptr;
  const std::uint32_t* plus = nullptr;
  const std::uint32_t* minus = nullptr;
  std::size_t plus_count = 0, minus_count = 0;
  const NodeVector* const* plus_vectors = nullptr;
  const NodeVector* const* minus_vectors = nullptr;
  std::size_t plus_vectors_count = 0, minus_vectors_count = 0;
};

/// x = min(max(a, 0), bound) * factor >> 16, at most 127: the mean over nodes, clipped. `bound` is the least a that
/// reaches 127, so that nothing overflows: ceil(127 * 2^16 / factor); factor in [1, 2^24].
struct Pool {
  std::int32_t factor = 1, bound = 127 << 16;
};

/// z = bias + w1 x + ws s; the result is b2 + w2 clip(z >> shift), clipped to [0, most]. |s| at most 2^11, |ws| 2^7,
/// |bias| 2^24, shift 0 to 24, most 1 to 2^16: what stands for 1, and how finely.
struct alignas(64) Head {
  std::int8_t w1[kLanes / 4][kHidden][4];     ///< inputs 4 by 4, as dot products of bytes want them
  std::int16_t ws[kScalars / 2][kHidden][2];  ///< ... 2 by 2
  std::int8_t w2[kHidden];
  std::int32_t b2;
  std::uint32_t shift;
  std::int32_t most;
};

/// One afterstate to be scored.
struct Afterstate {
  const NodeVector* delta = nullptr;   ///< to the accumulator; null: none
  const std::int32_t* bias = nullptr;  ///< kHidden, aligned to 64 bytes
  const std::int16_t* scalars = nullptr;
  Pool pool;
};

struct Kernels {
  /// out = the sum of the terms, which have at most kRowsMax rows.
  void (*sum)(NodeVector& out, const Terms& terms);
  /// accumulator += the sum of the terms, which have at most kRowsMax rows.
  void (*update)(Accumulator& accumulator, const Terms& terms);
  void (*pool)(std::uint8_t* out, const Accumulator& accumulator, const NodeVector* delta, Pool pool);
  /// out[i] = the head's answer for accumulator + delta of states[i].
  void (*score)(std::int32_t* out, const Head& head, const Accumulator& accumulator, const Afterstate* states,
                std::size_t count);
};

/// Returns the kernels of a level; null where this build or machine has none.
const Kernels* kernels_of(os::SimdLevel level);
/// Returns the kernels of the best level, which is found once.
const Kernels& kernels();

/// Variants of kernels.cpp, one per level.
extern const Kernels kPortableKernels;
#ifdef __x86_64__
extern const Kernels kAvx2Kernels, kAvx512VnniKernels;
#endif

}  // namespace trident::simd
