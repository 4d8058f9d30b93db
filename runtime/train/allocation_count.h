// Counts how often this process has asked for heap memory, by any door (operator new, malloc and its kin); for tests.
#pragma once

#include <cstdint>

namespace trident::train {

/// Counts from the start of the process; UINT64_MAX where a sanitizer owns the heap and nothing can be counted.
std::uint64_t allocations();

}  // namespace trident::train
