#include "jit/expr/amplification.h"

#include <cstdlib>

#include "jit/expr/ranges.h"

namespace trident::expr {
namespace {

// Returns whether the op keeps the relative error of an operand about as it is.
bool keeps_relative_error(Ranges& ranges, const Node& n) {
  if (n.op == Op::Add || n.op == Op::Sub) {
    const Fact a = ranges.at(n.a);
    const Fact b = ranges.at(n.b);
    const bool minus = n.op == Op::Sub;
    return (a.lo >= 0 && (minus ? b.hi <= 0 : b.lo >= 0)) || (a.hi <= 0 && (minus ? b.lo >= 0 : b.hi <= 0));
  }
  if (n.op == Op::Powi) return std::abs(static_cast<std::int64_t>(n.imm)) <= 2;
  // x f'(x) / f(x) is at most about 2 in these ranges.
  const auto within = [&](double bound) {
    const Fact a = ranges.at(n.a);
    return !a.may_be_nan && a.lo >= -bound && a.hi <= bound;
  };
  if (n.op == Op::Exp) return within(2);
  if (n.op == Op::Exp2) return within(2.8);
  if (n.op == Op::Sin || n.op == Op::Tan) return within(0.7);
  if (n.op == Op::Cos) return within(1);
  if (n.op == Op::Sinh || n.op == Op::Cosh || n.op == Op::Expm1) return within(1.5);
  if (n.op == Op::Log1p) return ranges.at(n.a).nonnegative();
  return n.op == Op::Tanh || n.op == Op::Atan || n.op == Op::Asinh || n.op == Op::Erf || n.op == Op::Mul ||
         n.op == Op::Div || n.op == Op::Neg || n.op == Op::Abs || n.op == Op::Recip || n.op == Op::Sqrt ||
         n.op == Op::Rsqrt || n.op == Op::Cbrt || n.op == Op::Min || n.op == Op::Max || n.op == Op::Select ||
         n.op == Op::Cast || n.op == Op::Copysign || n.op == Op::Hypot || n.op == Op::Sum || n.op == Op::Mean ||
         n.op == Op::Dot || n.op == Op::MinOf || n.op == Op::MaxOf;
}

}  // namespace

std::vector<bool> amplified_errors(const Expr& expr, const LowerOptions& options) {
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

}  // namespace trident::expr
