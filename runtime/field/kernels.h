// Many elements at once, and the permutation of Tip5: plain C++, AVX2 and AVX-512, equal to the bit.
//
// Elements are the integers in [0, p) in memory, as element.h has them. kernels.cpp is compiled once per level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/field/tip5_constants.h"

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

enum class Level : std::uint8_t { portable, avx2, avx512 };
inline constexpr Level kLevels[] = {Level::portable, Level::avx2, Level::avx512};
const char* name_of(Level level);

/// Returns true when this processor and this build have the level.
bool available(Level level);
/// Returns the kernels of an available level.
const Kernels& kernels(Level level);
/// Returns the kernels of the best available level, which is found once.
const Kernels& kernels();

}  // namespace trident::field
