// Random functions that always check: loops, branches, arrays, calls of the shipped library; each fourth is one of
// numbers alone (random_scalar.h).
#pragma once

#include <cstdint>
#include <string>

namespace trident::fuzz {

/// The text of function number `seed`.
std::string random_function(std::uint64_t seed);

}  // namespace trident::fuzz
