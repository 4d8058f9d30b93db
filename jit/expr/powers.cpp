#include "jit/expr/powers.h"

#include <cmath>

#include "jit/expr/builder.h"
#include "jit/expr/ranges.h"

namespace trident::expr {
namespace {

// Greatest error of plain chains for exact x, over all f32: 1.29 ulp for x^3, 1.90 for x^4, 2.92 for x^5, 3.44 for x^6.
// Alone, bounded(2) has room for 2 * 0.5 + 2; where the error is amplified, for twice that of one rounding.
constexpr std::int64_t kPlainMax = 5;
constexpr std::int64_t kPlainAmplifiedMax = 3;

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

// Operations that leave the relative error of an operand about as it is.
bool keeps_relative_error(Ranges& ranges, const Node& n) {
  if (n.op == Op::Add || n.op == Op::Sub) {
    const Fact a = ranges.at(n.a);
    const Fact b = ranges.at(n.b);
    const bool minus = n.op == Op::Sub;
    return (a.lo >= 0 && (minus ? b.hi <= 0 : b.lo >= 0)) || (a.hi <= 0 && (minus ? b.lo >= 0 : b.hi <= 0));
  }
  return n.op == Op::Mul || n.op == Op::Div || n.op == Op::Neg || n.op == Op::Abs || n.op == Op::Recip ||
         n.op == Op::Sqrt || n.op == Op::Rsqrt || n.op == Op::Cbrt || n.op == Op::Min || n.op == Op::Max ||
         n.op == Op::Select || n.op == Op::Cast || n.op == Op::Copysign || n.op == Op::Hypot || n.op == Op::Sum ||
         n.op == Op::Mean || n.op == Op::Dot || n.op == Op::MinOf || n.op == Op::MaxOf;
}

// Nodes whose error some later operation amplifies.
std::vector<bool> amplified(const Expr& expr, const LowerOptions& options) {
  Ranges ranges(expr, options);
  std::vector<bool> out(expr.nodes.size(), false);
  for (std::size_t i = expr.nodes.size(); i-- > 0;) {
    const Node& n = expr.nodes[i];
    const bool passes = n.op != Op::Constant && n.op != Op::Variable && !out[i] && keeps_relative_error(ranges, n);
    for (const NodeId operand : {n.a, n.b, n.c}) {
      if (operand.valid() && !passes) out[operand.index] = true;
    }
  }
  return out;
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
    if (!simple && exponent <= kPlainMax && worse.empty()) worse = amplified(expr, options);
    accurate[i] = simple || (exponent <= kPlainMax && !worse[i]);
  }
  return accurate;
}

}  // namespace trident::expr
