#include "jit/expr/powers.h"

#include <cmath>

#include "jit/expr/builder.h"

namespace trident::expr {
namespace {

constexpr std::int64_t kPlainMax = 6;

// Whether the node's own rounding is sure to show at some points of any range: not that of leaves, of operations that
// are exact, or of sums, which may be.
bool rounds(const Expr& expr, const Node& n) {
  const auto power_of_two = [&](NodeId id) {
    const Node& c = expr.at(id);
    int exponent = 0;
    return c.op == Op::Constant && std::fabs(std::frexp(value_of(c.type, c.imm), &exponent)) == 0.5;
  };
  if (n.op == Op::Mul) return !power_of_two(n.a) && !power_of_two(n.b);
  if (n.op == Op::Div) return !power_of_two(n.b);
  return n.op == Op::Recip || n.op == Op::Sqrt || (n.op >= Op::Rsqrt && n.op <= Op::Pow) ||
         (n.op >= Op::Sin && n.op <= Op::Erfc);
}

}  // namespace

bool chain_is_accurate(const Expr& expr, const Node& n) {
  const std::int64_t exponent = std::abs(static_cast<std::int64_t>(n.imm));
  if (exponent <= kPlainMax) return true;
  return exponent <= kPowerChainMax && rounds(expr, expr.at(n.a));
}

}  // namespace trident::expr
