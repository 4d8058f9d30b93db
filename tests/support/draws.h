// How many random cases a test draws, and from which seed on: few in `make test`, more in `make campaign NAME=draws`.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "runtime/base/check.h"

namespace trident::testing {

/// Returns the number in an environment variable, or 1 where it is not set.
inline std::uint64_t one_or_environment(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return 1;
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text, &end, 10);
  CHECK(*end == '\0' && number > 0);  // the variable is no number above 0
  return number;
}

/// Returns `few` times the number in TRIDENT_DRAWS, or `few` where it is not set. The first `few` cases are the same.
inline std::uint64_t draws(std::uint64_t few) {
  return few * one_or_environment("TRIDENT_DRAWS");
}

/// Returns the seed of the first case, TRIDENT_FIRST or 1: parts of a campaign run side by side, and one can go on.
inline std::uint64_t first_seed() {
  return one_or_environment("TRIDENT_FIRST");
}

}  // namespace trident::testing
