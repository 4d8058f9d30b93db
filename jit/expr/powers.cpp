#include "jit/expr/powers.h"

#include <cmath>

#include "jit/expr/amplification.h"
#include "jit/expr/builder.h"

namespace trident::expr {
namespace {

// Greatest error of plain chains for exact x, over all f32: 1.29 ulp for x^3, 1.90 for x^4, 2.92 for x^5, 3.44 for x^6.
// Alone, bounded(2) has room for 2 * 0.5 + 2; where the error is amplified, for twice that of one rounding.
constexpr std::int64_t kPlainMax = 5;
constexpr std::int64_t kPlainAmplifiedMax = 3;

// Returns whether the node's own rounding is sure to show at some points of any range. False for leaves, for exact
// operations, and for sums, which may be exact.
bool rounds(const Expr& expr, const Node& n) {
  const auto power_of_two = [&](NodeId id) {
    const Node& c = expr.at(id);
    int exponent = 0;
    return c.op == Op::Constant && std::fabs(std::frexp(value_of(c.type, c.imm), &exponent)) == 0.5;
  };
  if (n.op == Op::Mul) return !power_of_two(n.a) && !power_of_two(n.b);
  if (n.op == Op::Div) return !power_of_two(n.b);
  if (n.op == Op::Recip || n.op == Op::Sqrt) return true;
  return info(n.op).is_real && info(n.op).rounding == Rounding::approximate && n.op != Op::Powi;
}

}  // namespace

std::vector<bool> accurate_chains(const Expr& expr, const LowerOptions& options) {
  std::vector<bool> accurate(expr.nodes.size(), false);
  std::vector<bool> worse;
  for (std::size_t i = 0; i < expr.nodes.size(); ++i) {
    const Node& n = expr.nodes[i];
    if (n.op != Op::Powi) continue;
    const std::int64_t exponent = std::abs(static_cast<std::int64_t>(n.imm));
    const bool simple =
        exponent <= kPlainAmplifiedMax || ir::is_int(n.type) ||
        (exponent <= kPowerChainMax && (options.policy.kind == PolicyKind::fast || rounds(expr, expr.at(n.a))));
    if (!simple && exponent <= kPlainMax && worse.empty()) worse = amplified_errors(expr, options);
    accurate[i] = simple || (exponent <= kPlainMax && !worse[i]);
  }
  return accurate;
}

}  // namespace trident::expr
