// How many random cases a test draws: few in `make test`, more in `make campaign NAME=draws`.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "runtime/base/check.h"

namespace trident::testing {

/// Returns `few` times the number in TRIDENT_DRAWS, or `few` where it is not set. The first `few` cases are the same.
inline std::uint64_t draws(std::uint64_t few) {
  const char* const times = std::getenv("TRIDENT_DRAWS");
  if (times == nullptr) return few;
  char* end = nullptr;
  const std::uint64_t factor = std::strtoull(times, &end, 10);
  CHECK(*end == '\0' && factor > 0);  // TRIDENT_DRAWS is no number above 0
  return few * factor;
}

}  // namespace trident::testing
