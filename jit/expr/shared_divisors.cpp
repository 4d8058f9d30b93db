#include "jit/expr/shared_divisors.h"

#include <algorithm>
#include <vector>

#include "jit/expr/builder.h"
#include "jit/expr/compact.h"
#include "jit/expr/ranges.h"

namespace trident::expr {
namespace {

/// Bounds of the divisors that need no power of two, and these powers; all of f64.
constexpr double kVast = 0x1p900, kTiny = 0x1p-900, kDown = 0x1p-500, kUp = 0x1p500;

class Sharing {
 public:
  Sharing(const Expr& expr, const LowerOptions& options)
      : expr_(expr), ranges_(expr, options), builder_(out_), quotients_(expr.nodes.size(), 0) {
    out_.variables = expr.variables;
  }

  std::optional<Expr> run() {
    for (const Node& n : expr_.nodes)
      if (divides(n)) ++quotients_[n.b.index];
    if (std::none_of(quotients_.begin(), quotients_.end(), [](std::uint32_t q) { return q > 1; })) return std::nullopt;
    place_.resize(expr_.nodes.size());
    for (std::size_t i = 0; i < expr_.nodes.size(); ++i) {
      const Node& n = expr_.nodes[i];
      place_[i] = divides(n) && quotients_[n.b.index] > 1 ? quotient(n) : builder_.add(moved(n, place_));
    }
    move_outputs(expr_, out_, place_);
    return std::move(out_);
  }

 private:
  /// Returns whether `n` may share the reciprocal of its divisor.
  [[nodiscard]] bool divides(const Node& n) const {
    return n.op == Op::Div && n.type == Type::f64 && expr_.at(n.b).op != Op::Constant;
  }
  [[nodiscard]] bool is_root(NodeId id) const { return expr_.at(id).op == Op::Sqrt; }

  NodeId quotient(const Node& n) {
    const NodeId x = place_[n.a.index], d = place_[n.b.index];
    const NodeId s = is_root(n.b) ? NodeId() : scale(n.b);
    const NodeId one = number(1);
    const NodeId r = builder_.op(Op::Div, one, s.valid() ? builder_.op(Op::Mul, d, s) : d);
    const NodeId product = x == one ? r : builder_.op(Op::Mul, x, r);
    return s.valid() ? builder_.op(Op::Mul, product, s) : product;
  }

  /// Returns the power of two for a divisor of the source, or none where it is 1.
  NodeId scale(NodeId divisor) {
    const Fact f = ranges_.at(divisor);
    const bool may_be_vast = !f.finite() || f.lo < -kVast || f.hi > kVast;
    const bool may_be_tiny = f.lo < kTiny && f.hi > -kTiny;
    if (!may_be_vast && !may_be_tiny) return {};
    const NodeId size = builder_.op(Op::Abs, place_[divisor.index]);
    NodeId s = number(1);
    if (may_be_tiny) s = builder_.op(Op::Select, builder_.op(Op::Lt, size, number(kTiny)), number(kUp), s);
    if (may_be_vast) s = builder_.op(Op::Select, builder_.op(Op::Gt, size, number(kVast)), number(kDown), s);
    return s;
  }
  NodeId number(double value) { return builder_.constant(Type::f64, value); }

  const Expr& expr_;
  Ranges ranges_;
  Expr out_;
  Builder builder_;
  std::vector<std::uint32_t> quotients_;
  std::vector<NodeId> place_;
};

}  // namespace

std::optional<Expr> share_divisors(const Expr& expr, const LowerOptions& options) {
  return Sharing(expr, options).run();
}

}  // namespace trident::expr
