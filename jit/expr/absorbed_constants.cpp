#include "jit/expr/absorbed_constants.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "jit/expr/builder.h"
#include "jit/expr/compact.h"
#include "jit/expr/constants.h"
#include "jit/expr/ranges.h"

namespace trident::expr {
namespace {

bool is_sum(const Node& n) {
  return n.op == Op::Add || n.op == Op::Sub;
}

class AbsorbedConstants {
 public:
  AbsorbedConstants(const Expr& expr, const LowerOptions& options)
      : expr_(expr),
        ranges_(expr, options),
        builder_(out_),
        uses_(expr.nodes.size(), 0),
        is_term_(expr.nodes.size(), false),
        may_cancel_(expr.nodes.size(), true),
        is_only_added_(expr.nodes.size(), true) {
    out_.variables = expr.variables;
    look_at_users();
  }

  Expr run() {
    place_.resize(expr_.nodes.size());
    for (std::uint32_t i = 0; i < expr_.nodes.size(); ++i) {
      const NodeId made = ir::is_float(expr_.nodes[i].type) ? absorbed(i) : NodeId();
      place_[i] = made.valid() ? made : builder_.add(moved(expr_.nodes[i], place_));
    }
    move_outputs(expr_, out_, place_);
    return std::move(out_);
  }

 private:
  /// Counts users, and notes which nodes are terms of sums and whose zeros no user asks for.
  void look_at_users() {
    for (const Output& o : expr_.outputs) ++uses_[o.node.index];
    for (std::size_t i = expr_.nodes.size(); i-- > 0;) {
      const Node& n = expr_.nodes[i];
      const bool passes_on = (is_sum(n) || n.op == Op::Mul || n.op == Op::Neg) && may_cancel_[i];
      for (const NodeId operand : {n.a, n.b, n.c}) {
        if (!operand.valid()) continue;
        ++uses_[operand.index];
        is_term_[operand.index] = is_sum(n);
        if (!passes_on) may_cancel_[operand.index] = false;
        if (!(is_sum(n) || n.op == Op::Neg) || !is_only_added_[i]) is_only_added_[operand.index] = false;
      }
    }
  }

  [[nodiscard]] const Node& at(NodeId id) const { return expr_.at(id); }
  [[nodiscard]] bool own(NodeId id) const { return uses_[id.index] == 1; }
  [[nodiscard]] bool is_constant(NodeId id) const { return at(id).op == Op::Constant; }
  [[nodiscard]] double value(NodeId id) const { return value_of(at(id).type, at(id).imm); }

  /// Returns the node that takes the place of number `i`, or nothing.
  NodeId absorbed(std::uint32_t i) {
    const Node& n = expr_.nodes[i];
    if (n.op != Op::Mul) return {};
    if (is_constant(n.b)) return times_constant(i, n);
    if (own(n.a) && has_factor(n.a) && is_plain_sum(n.b) && takes_sum(n.b, value(at(n.a).b)))
      return builder_.op(Op::Mul, place(at(n.a).a), scaled(n.b, value(at(n.a).b)));
    if (own(n.b) && has_factor(n.b) && is_plain_sum(n.a) && takes_sum(n.a, value(at(n.b).b)))
      return builder_.op(Op::Mul, place(at(n.b).a), scaled(n.a, value(at(n.b).b)));
    return {};
  }

  /// x e where x is a sum or has one for a factor. A sum that becomes part of the next one by an fma saves nothing.
  NodeId times_constant(std::uint32_t i, const Node& n) {
    const double factor = value(n.b);
    const Node& x = at(n.a);
    if (!is_usable(n.type, factor) || !own(n.a)) return {};
    if (is_sum(x)) {
      if ((own(NodeId(i)) && is_term_[i]) || !keeps_zeros(n.a)) return {};
      const bool safe = tame(n.a) || (is_only_added_[i] && has_constant_term(n.a));
      const bool takes = is_plain_sum(n.a) || (safe && takes_up(n.a, factor));
      return takes ? scaled(n.a, factor) : NodeId();
    }
    if (x.op != Op::Mul) return {};
    const NodeId sum = is_plain_sum(x.b) ? x.b : x.a;
    if (!is_plain_sum(sum) || !takes_sum(sum, factor) || !(is_only_added_[i] || tame(n.a))) return {};
    return builder_.op(Op::Mul, place(sum == x.b ? x.a : x.b), scaled(sum, factor));
  }

  /// Factors far from overflow and underflow: products of a few of them are normal.
  static bool is_usable(Type type, double factor) {
    const double size = std::fabs(factor), limit = type == Type::f32 ? 0x1p20 : 0x1p200;
    return size <= limit && size >= 1 / limit;
  }
  [[nodiscard]] bool has_factor(NodeId id) const {
    const Node& n = at(id);
    return n.op == Op::Mul && is_constant(n.b) && !is_constant(n.a) && is_usable(n.type, value(n.b));
  }

  /// Returns whether `id` is x + d, which nothing else needs and which makes no fma.
  [[nodiscard]] bool is_plain_sum(NodeId id) const {
    const Node& n = at(id);
    if (!is_sum(n) || !own(id) || is_constant(n.a) == is_constant(n.b)) return false;
    const NodeId x = is_constant(n.a) ? n.b : n.a, d = is_constant(n.a) ? n.a : n.b;
    return !(at(x).op == Op::Mul && own(x)) && is_usable(n.type, value(d));
  }

  bool keeps_zeros(NodeId sum) { return may_cancel_[sum.index] || ranges_.at(sum).nonzero(); }
  /// Returns whether a plain sum that is a factor takes up `factor`.
  bool takes_sum(NodeId sum, double factor) { return keeps_zeros(sum) && (std::fabs(factor) <= 1 || tame(sum)); }

  bool tame(NodeId id) {
    const Fact f = ranges_.at(id);
    const double limit = at(id).type == Type::f32 ? 0x1p80 : 0x1p700;
    return f.finite() && f.lo >= -limit && f.hi <= limit;
  }

  /// Returns whether a term takes up `factor` for nothing.
  bool takes_up(NodeId id, double factor) {
    const Node& n = at(id);
    if (n.op == Op::Constant) return is_usable(n.type, value(id));
    if (!own(id) || (std::fabs(factor) > 1 && !tame(id))) return false;
    if (n.op == Op::Neg || n.op == Op::Div) return takes_up(n.a, factor);
    if (n.op == Op::Mul) return factor_of(n, factor).valid();
    if (!is_sum(n)) return false;
    return is_plain_sum(id) ? keeps_zeros(id) : takes_up(n.a, factor) && takes_up(n.b, factor);
  }
  /// Returns the factor of a product that takes up another one.
  NodeId factor_of(const Node& product, double factor) {
    if (takes_up(product.b, factor)) return product.b;
    return takes_up(product.a, factor) ? product.a : NodeId();
  }
  [[nodiscard]] bool has_constant_term(NodeId id) const {
    const Node& n = at(id);
    return n.op == Op::Constant || (is_sum(n) && (has_constant_term(n.a) || has_constant_term(n.b)));
  }

  /// Returns `id` times a factor that it takes up.
  NodeId scaled(NodeId id, double factor) {
    const Node& n = at(id);
    if (n.op == Op::Constant)
      return builder_.constant(n.type, round_to(n.type, static_cast<long double>(value(id)) * factor));
    if (n.op == Op::Neg) return builder_.op(Op::Neg, scaled(n.a, factor));
    if (n.op == Op::Div) return builder_.op(Op::Div, scaled(n.a, factor), place(n.b));
    if (n.op == Op::Mul) return scaled_product(n, factor);
    const bool plain = is_plain_sum(id);
    const auto term = [&](NodeId x) { return plain && !is_constant(x) ? times(place(x), factor) : scaled(x, factor); };
    const NodeId a = term(n.a);
    return builder_.op(n.op, a, term(n.b));
  }
  NodeId scaled_product(const Node& n, double factor) {
    // A constant of one factor and what is to be taken up go into the other, if that is a sum.
    for (const auto& [product, sum] : {std::pair{n.a, n.b}, {n.b, n.a}}) {
      const NodeId holder = is_plain_sum(sum) ? factor_in(product) : NodeId();
      if (!holder.valid()) continue;
      const double both = value(at(holder).b) * factor;
      if (is_usable(n.type, both) && takes_sum(sum, both))
        return builder_.op(Op::Mul, without_factor(product, holder), scaled(sum, both));
    }
    const NodeId taker = factor_of(n, factor), other = taker == n.b ? n.a : n.b;
    const NodeId made = scaled(taker, factor);
    return taker == n.b ? builder_.op(Op::Mul, place(other), made) : builder_.op(Op::Mul, made, place(other));
  }

  /// Returns the product with a constant that `id` is or multiplies, and that it may do without; nothing if none.
  NodeId factor_in(NodeId id) {
    const NodeId holder = deep_factor(id);
    const bool grows = holder.valid() && holder != id && std::fabs(value(at(holder).b)) < 1;
    return grows && !(tame(id) && tame(holder)) ? NodeId() : holder;
  }
  [[nodiscard]] NodeId deep_factor(NodeId id) const {
    const Node& n = at(id);
    if (n.op != Op::Mul || !own(id)) return {};
    if (has_factor(id)) return id;
    const NodeId left = deep_factor(n.a);
    return left.valid() ? left : deep_factor(n.b);
  }
  NodeId without_factor(NodeId product, NodeId holder) {
    const Node& n = at(product);
    if (product == holder) return place(n.a);
    const bool left = deep_factor(n.a).valid();
    const NodeId a = left ? without_factor(n.a, holder) : place(n.a);
    return builder_.op(Op::Mul, a, left ? place(n.b) : without_factor(n.b, holder));
  }

  NodeId times(NodeId x, double factor) {
    return builder_.op(Op::Mul, x, builder_.constant(builder_.type_of(x), factor));
  }
  [[nodiscard]] NodeId place(NodeId id) const { return place_[id.index]; }

  const Expr& expr_;
  Ranges ranges_;
  Expr out_;
  Builder builder_;
  std::vector<std::uint32_t> uses_;
  std::vector<bool> is_term_;        ///< of a sum, which is its last user
  std::vector<bool> may_cancel_;     ///< its value goes into sums, products and outputs alone
  std::vector<bool> is_only_added_;  ///< its value goes into sums and outputs alone
  std::vector<NodeId> place_;
};

}  // namespace

Expr absorb_constants(const Expr& expr, const LowerOptions& options) {
  return AbsorbedConstants(expr, options).run();
}

}  // namespace trident::expr
