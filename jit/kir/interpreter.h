// The kir interpreter: the meaning of kir, and the client's fallback. Works block by block (a few hundred elements per
// op) so that it runs at memory speed of L1 rather than one element at a time.
#pragma once

#include <cstdint>
#include <span>

#include "jit/kir/kir.h"

namespace trident::kir {

/// Runs `kernel` over `n` elements. `in[i]` and `out[i]` point to arrays of the declared types (n elements; one for a
/// scalar output); an output may be the same array as an input, but may not overlap one partly. `params[i]` holds the
/// bits of parameter i in its low bytes. `kernel` must have passed check(). Never allocates more than a fixed scratch.
void interpret(const Kernel& kernel, std::uint64_t n, const void* const* in, void* const* out,
               const std::uint64_t* params);

/// One lane of one op, on bits: what constant folding uses and what tests compare everything else with.
/// `types` are the operand types; reductions and leaves are not allowed.
std::uint64_t eval_lane(Op op, Type result, Type operand, std::uint64_t a, std::uint64_t b, std::uint64_t c);

}  // namespace trident::kir
