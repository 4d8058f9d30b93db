// Sums and products in another order: what only roundings tell apart, and what latencies and registers do not.
#pragma once

#include <cstdint>

#include "jit/expr/expr.h"

namespace trident::learn {

enum class SumShape : std::uint8_t { chain, tree, random };

/// Every sum and every product of three or more terms anew, its terms in an order drawn by `seed`; differences are sums
/// of what is negated. Shared parts stay shared.
expr::Expr reassociated(const expr::Expr& expr, SumShape shape, std::uint64_t seed);

/// Each fma as a product and a sum.
expr::Expr without_fma(const expr::Expr& expr);

}  // namespace trident::learn
