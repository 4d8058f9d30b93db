// Partial derivatives of ops, and arithmetic on tangents and adjoints (derivative.cpp).
#pragma once

#include "jit/expr/builder.h"
#include "jit/expr/expr.h"

namespace trident::expr {

/// The derivative of a node with respect to one operand, stored as its effect on a tangent t.
struct Partial {
  enum class Kind : std::uint8_t { zero, one, times, over };
  Kind kind = Kind::zero;
  bool negative = false;
  NodeId factor;
};

struct Partials {
  Partial a, b, c;
};

/// Does arithmetic on tangents and adjoints, where an invalid id is zero, and knows the partial derivatives of ops.
/// Nodes travel by value here: the builder's vector moves while new ones are appended.
class Tangents {
 protected:
  explicit Tangents(Builder& builder) : b_(builder) {}

  // --- arithmetic on tangents: an invalid id is zero ---
  NodeId constant(Type type, double v) { return b_.constant(type, v); }
  bool is_one(NodeId id) const {
    const Node n = b_.at(id);
    return n.op == Op::Constant && value_of(n.type, n.imm) == 1;
  }
  NodeId cast(Type type, NodeId t) { return t.valid() ? b_.cast(type, t) : t; }
  NodeId mul(NodeId x, NodeId y) { return is_one(x) ? y : is_one(y) ? x : b_.op(Op::Mul, x, y); }
  NodeId sum(NodeId x, NodeId y, bool subtract) {
    if (!y.valid()) return x;
    if (!x.valid()) return subtract ? b_.op(Op::Neg, y) : y;
    return b_.op(subtract ? Op::Sub : Op::Add, x, y);
  }
  NodeId apply(const Partial& p, NodeId t) {
    switch (p.kind) {
      case Partial::Kind::zero: return {};
      case Partial::Kind::one: return t;
      case Partial::Kind::times: return mul(t, p.factor);
      case Partial::Kind::over: return is_one(t) ? b_.op(Op::Recip, p.factor) : b_.op(Op::Div, t, p.factor);
    }
    CHECK(false);
  }
  NodeId choose(NodeId condition, NodeId yes, NodeId no, Type type) {
    if (!yes.valid() && !no.valid()) return {};
    const NodeId zero = constant(type, 0);
    return b_.op(Op::Select, condition, yes.valid() ? yes : zero, no.valid() ? no : zero);
  }
  // Returns whether the result of min or max is its first operand: it comes first, or the second is NaN.
  NodeId first_wins(Node n) {
    const NodeId first = b_.op(n.op == Op::Min ? Op::Le : Op::Ge, n.a, n.b);
    return b_.op(Op::Or, first, b_.op(Op::Ne, n.b, n.b));
  }

  bool is_reciprocal(Node node) const { return node.op == Op::Div && is_one(node.a); }

  // --- the table ---
  Partials partials_of(NodeId y, Node n);
  Partials power(NodeId y, Node n);
  Partials integer_power(Node n);

  Builder& b_;
};

}  // namespace trident::expr
