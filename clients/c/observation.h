// Least and greatest values of a call's arguments: hints for the daemon about the data that a kernel gets.
#pragma once

#include <cstdint>
#include <vector>

#include "clients/c/wire.h"
#include "jit/expr/expr.h"

namespace trident::client {

/// Returns the ranges of the arguments of one call, by variable; of long arrays, those of some of the elements. From
/// -inf to inf for tables and where an argument has a NaN or no element. Allocates the result and nothing else.
std::vector<wire::Range> ranges_of(const std::vector<expr::Variable>& variables, std::uint64_t n, const void* const* in,
                                   const std::uint64_t* params);

}  // namespace trident::client
