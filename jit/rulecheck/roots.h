// Finds where a term of a rule is zero or an integer, or two terms are equal, as one variable moves and the others
// stand still: to a hundred digits.
#pragma once

#include <optional>
#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/equiv/numbers.h"
#include "jit/rulecheck/points.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// Bits of roots, and log2 of their relative precision.
inline constexpr int kRootBits = 512, kRootShareLog2 = -330;
using Near = equiv::WideBig<kRootBits>;

/// A term, or the difference of two, that a root brings to zero or to a multiple of 1/parts.
struct Edge {
  egraph::Pattern term;
  std::optional<egraph::Pattern> less;
  int parts = 0;
  bool kink = false;            ///< nothing jumps here: matters where several vanish at once
  std::vector<bool> depends{};  ///< by variable
};

/// Returns the edges of both sides, where an operation jumps or ends: compared terms, divisors, operands of steps,
/// logarithms and powers; quotients of remainders; and zeros of sums in these. None needs a change of sign. Includes
/// kinks of absolute values and extrema. None twice.
std::vector<Edge> edges_of(const egraph::Rule& rule, const Sorts& sorts);

/// Returns at most `most` roots of an edge in variable `v`, those near zero first, with bounds of their errors, at the
/// other values of `point`. `far`: zero too, and only half of them near it, the others anywhere within some hundred.
std::vector<Near> roots_of(const Edge& edge, const Sorts& sorts, Point point, std::size_t v, std::size_t most,
                           bool far);

}  // namespace trident::rulecheck
