#include "jit/expr/zero_signs.h"

#include "jit/expr/ranges.h"

namespace trident::expr {
namespace {

class ZeroSigns {
 public:
  ZeroSigns(const Expr& expr, const LowerOptions& options)
      : expr_(expr), ranges_(expr, options), matters_(expr.nodes.size(), false) {}

  std::vector<bool> run() {
    for (std::uint32_t i = static_cast<std::uint32_t>(expr_.nodes.size()); i-- > 0;) {
      const Node& n = expr_.nodes[i];
      if (!ir::is_float(n.type)) continue;
      reads(n);
      if (matters_[i]) passes(n);
    }
    return std::move(matters_);
  }

 private:
  bool may_be_zero(NodeId id) {
    const Fact f = ranges_.at(id);
    return f.lo <= 0 && f.hi >= 0;
  }
  void mark(NodeId id) {
    if (id.valid() && may_be_zero(id)) matters_[id.index] = true;
  }

  // Marks operands of operations whose result is not small where an operand is zero, and depends on its sign.
  void reads(const Node& n) {
    if (reads_zero_sign_of_first(n.op)) mark(n.a);
    if (reads_zero_sign_of_second(n.op)) mark(n.b);
    if (n.op == Op::Powi && static_cast<std::int64_t>(n.imm) < 0) mark(n.a);
  }

  // The sign of the zero of `n` matters: marks the operands that it comes from.
  void passes(const Node& n) {
    if (n.op == Op::Add || n.op == Op::Sub) {
      // x + y is a zero with the sign of x only where both are zeros; otherwise a zero sum is +0.
      if (may_be_zero(n.b)) mark(n.a);
      if (may_be_zero(n.a)) mark(n.b);
      return;
    }
    const bool square = n.op == Op::Mul && n.a == n.b;
    const bool even = n.op == Op::Powi && n.imm % 2 == 0;
    if (square || even || n.op == Op::Abs) return;
    for (const NodeId operand : {n.a, n.b, n.c}) mark(operand);
  }

  const Expr& expr_;
  Ranges ranges_;
  std::vector<bool> matters_;
};

}  // namespace

std::vector<bool> zero_signs_that_matter(const Expr& expr, const LowerOptions& options) {
  return ZeroSigns(expr, options).run();
}

}  // namespace trident::expr
