// An expression evaluated node by node, one element at a time, over libm: the meaning of jit/expr/ops.def written down
// as plainly as possible and independently of jit/kir. f32 functions are computed in f64 and rounded.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::testing {

/// The bits of one op's result on the bits of its operands. No leaf, reduction or derivative.
std::uint64_t evaluate_op(const expr::Expr& expr, const expr::Node& node, std::uint64_t a, std::uint64_t b,
                          std::uint64_t c);

/// values[node][i]: the bits of every node at element i (one value for nodes that depend on no array). inputs[v] are
/// the bits of variable v, `n` of them or one for a scalar. No derivatives.
std::vector<std::vector<std::uint64_t>> evaluate_strict(const expr::Expr& expr,
                                                        const std::vector<std::vector<std::uint64_t>>& inputs,
                                                        std::size_t n);

}  // namespace trident::testing
