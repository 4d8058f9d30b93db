// Reorders sums and products: only roundings, latencies and register use differ.
#pragma once

#include <cstdint>

#include "jit/expr/expr.h"

namespace trident::learn {

enum class SumShape : std::uint8_t { chain, tree, random };

/// Rebuilds every sum and every product of three or more terms in an order drawn by `seed`; differences are sums
/// of negated terms. Shared parts stay shared.
expr::Expr reassociated(const expr::Expr& expr, SumShape shape, std::uint64_t seed);

/// Replaces each fma by a product and a sum.
expr::Expr without_fma(const expr::Expr& expr);

}  // namespace trident::learn
