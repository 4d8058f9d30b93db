#include "jit/expr/joined_divisions.h"

#include <algorithm>
#include <numeric>

#include "jit/expr/amplification.h"
#include "jit/expr/builder.h"
#include "jit/expr/compact.h"
#include "jit/expr/shape.h"
#include "jit/expr/simplifier.h"
#include "jit/expr/zero_signs.h"

namespace trident::expr {
namespace {

class Joining {
 public:
  Joining(const Expr& expr, const LowerOptions& options)
      : expr_(expr),
        simplifier_(out_, options),
        shapes_(shapes_of(expr)),
        amplified_(amplified_errors(expr, options)),
        signed_zeros_(zero_signs_that_matter(expr, options)),
        levels_(expr.nodes.size(), 0),
        partner_(expr.nodes.size()),
        place_(expr.nodes.size()) {
    out_.variables = expr.variables;
  }

  Expr run() {
    find_levels();
    if (divisors_.size() < 2) return expr_;
    for (const std::uint32_t i : by_level()) {
      const Node& n = expr_.nodes[i];
      const bool joined = divides(n) && find_partner(n.b);
      place_[i] = joined ? quotient(i, n) : simplifier_.builder().add(moved(n, place_));
    }
    if (std::none_of(partner_.begin(), partner_.end(), [](NodeId id) { return id.valid(); })) return expr_;
    move_outputs(expr_, out_, place_);
    return std::move(out_);
  }

 private:
  // Returns whether `n` is a division of elements that takes the divider.
  [[nodiscard]] bool divides(const Node& n) const {
    return n.op == Op::Div && ir::is_float(n.type) && shapes_[n.b.index] == Shape::element;
  }

  void find_levels() {
    for (std::size_t i = 0; i < expr_.nodes.size(); ++i) {
      const Node& n = expr_.nodes[i];
      for (const NodeId operand : {n.a, n.b, n.c})
        if (operand.valid()) levels_[i] = std::max(levels_[i], levels_[operand.index]);
      if (!divides(n)) continue;
      levels_[i] = std::max(levels_[i], levels_[n.b.index] + 1);
      if (std::find(divisors_.begin(), divisors_.end(), n.b) == divisors_.end()) divisors_.push_back(n.b);
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> by_level() const {
    std::vector<std::uint32_t> order(expr_.nodes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return levels_[a] < levels_[b]; });
    return order;
  }

  // Returns whether `divisor` has a partner now. All divisors of its level have their places, as its first quotient has
  // a higher level.
  bool find_partner(NodeId divisor) {
    if (partner_[divisor.index].valid()) return true;
    for (const NodeId other : divisors_) {
      if (other == divisor || partner_[other.index].valid() || !fit(divisor, other)) continue;
      partner_[divisor.index] = other, partner_[other.index] = divisor;
      return true;
    }
    return false;
  }

  bool fit(NodeId c, NodeId d) {
    if (levels_[c.index] != levels_[d.index] || expr_.at(c).type != expr_.at(d).type) return false;
    return simplifier_.central(place_[c.index]) && simplifier_.central(place_[d.index]) &&
           simplifier_.central(simplifier_.builder().op(Op::Mul, place_[c.index], place_[d.index]));
  }

  // Both quotients of a pair ask for the product of the same two nodes, in the same order.
  NodeId reciprocal(NodeId divisor) {
    Builder& b = simplifier_.builder();
    const NodeId other = partner_[divisor.index];
    const NodeId first = std::min(divisor.index, other.index) == divisor.index ? divisor : other;
    const NodeId second = first == divisor ? other : divisor;
    const NodeId product = b.op(Op::Mul, place_[first.index], place_[second.index]);
    const NodeId inverse = b.op(Op::Div, b.constant(b.type_of(product), 1), product);
    return b.op(Op::Mul, inverse, place_[other.index]);
  }

  NodeId quotient(std::uint32_t i, const Node& n) {
    const NodeId x = place_[n.a.index], d = place_[n.b.index];
    if (amplified_[i] && (signed_zeros_[i] || !simplifier_.tame(x))) return simplifier_.builder().add(moved(n, place_));
    Builder& b = simplifier_.builder();
    const NodeId r = reciprocal(n.b);
    double one = 0;
    const bool inverse = simplifier_.constant(x, one) && one == 1;
    const NodeId q = inverse ? r : b.op(Op::Mul, x, r);
    if (!amplified_[i]) return q;
    const NodeId rest = b.op(Op::Fma, b.op(Op::Neg, q), d, x);
    return b.op(Op::Fma, rest, r, q);
  }

  const Expr& expr_;
  Expr out_;
  Simplifier simplifier_;
  std::vector<Shape> shapes_;
  std::vector<bool> amplified_, signed_zeros_;
  std::vector<std::uint32_t> levels_;
  std::vector<NodeId> divisors_;  // each once
  std::vector<NodeId> partner_;   // of a divisor, if it has one
  std::vector<NodeId> place_;
};

}  // namespace

Expr join_divisions(const Expr& expr, const LowerOptions& options) {
  return Joining(expr, options).run();
}

}  // namespace trident::expr
