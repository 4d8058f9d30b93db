// Many elements at once, and the permutation of Tip5: plain C++, AVX2 and AVX-512, equal to the bit.
//
// Elements are the integers in [0, p) in memory, as element.h has them. kernels.cpp is compiled once per level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/field/tip5_constants.h"
#include "runtime/os/simd_level.h"

namespace trident::field {

/// The words that went through Tip5's table of bytes in each round, in Montgomery form: 2^64 x mod p.
struct Tip5Lookups {
  std::uint64_t word[kTip5Rounds][kTip5LookedUp];
};

struct Kernels {
  /// out[i] = a[i] op b[i]; out may be a or b.
  void (*add)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count);
  void (*subtract)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count);
  void (*multiply)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t count);
  /// The permutation of Tip5 on 16 words aligned to 64 bytes, and its lookups.
  void (*tip5)(std::uint64_t* state, Tip5Lookups& lookups);
};

/// Returns the kernels of a level; null where this build or machine has none.
const Kernels* kernels_of(os::SimdLevel level);
/// Returns the kernels of the best level, which is found once.
const Kernels& kernels();

/// Variants of kernels.cpp, one per level.
extern const Kernels kPortableKernels;
#ifdef __x86_64__
extern const Kernels kAvx2Kernels, kAvx512Kernels;
#endif

}  // namespace trident::field
