#include "jit/expr/amplification.h"

#include <cmath>
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
  if (n.op == Op::Log1p) return ranges.at(n.a).nonnegative();
  const double bound = info(n.op).well_conditioned_to;
  if (bound == 0 || std::isinf(bound)) return bound != 0;
  const Fact a = ranges.at(n.a);
  return !a.may_be_nan && a.lo >= -bound && a.hi <= bound;
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
