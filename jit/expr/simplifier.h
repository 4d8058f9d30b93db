// Constructors that build a simpler node than the one asked for, when the policy and the ranges allow it. Canonical
// forms that the rules rely on: constants stand to the right; a product carries its constant factor at the top, (x * y)
// * c; signs stand outside products and quotients; a difference with a constant is a sum; 1 / x is a quotient.
#pragma once

#include "jit/expr/builder.h"
#include "jit/expr/ranges.h"
#include "jit/expr/shape.h"

namespace trident::expr {

class Simplifier {
 public:
  /// Appends to `out`, which has its variables already. With `keep_roundings` no rounding comes, goes or moves.
  Simplifier(Expr& out, const LowerOptions& options, bool keep_roundings = false);

  /// Returns the node that `node` (with operands of `out`) becomes. With `keep_zero` the sign of a zero result matters:
  /// only exact changes are made.
  NodeId make(const Node& node, bool keep_zero = false);

  Builder& builder() { return b_; }
  Fact fact(NodeId id) { return ranges_.at(id); }
  Shape shape(NodeId id);
  /// Returns whether identities over the reals are allowed.
  [[nodiscard]] bool real() const { return real_; }
  /// Returns whether the sign of a zero may change.
  [[nodiscard]] bool unsigned_zeros() const { return unsigned_zeros_; }
  /// Returns whether the policy also has room for one more rounding, as in a product with a reciprocal.
  [[nodiscard]] bool roomy() const { return roomy_; }
  /// True if `id` is finite and so far from overflow that moving a factor past it cannot overflow.
  bool tame(NodeId id);
  /// True if `id` is also that far from zero: dividing by it is safe in any order.
  bool central(NodeId id);
  [[nodiscard]] bool constant(NodeId id, double& value) const;

  NodeId add(NodeId a, NodeId b);
  NodeId sub(NodeId a, NodeId b);
  NodeId mul(NodeId a, NodeId b);
  NodeId div(NodeId a, NodeId b);
  NodeId neg(NodeId a);
  NodeId powi(NodeId a, std::int64_t n);

 private:
  NodeId build(const Node& node);
  /// a = core * factor.
  struct Scaled {
    NodeId core;
    double factor = 1;
  };

  [[nodiscard]] const Node& at(NodeId id) const { return b_.at(id); }
  [[nodiscard]] Type type(NodeId id) const { return b_.type_of(id); }
  NodeId number(Type type, long double value);
  Scaled scaled(NodeId id) const;
  bool usable_factor(Type type, double factor) const;

  NodeId integer(const Node& node);
  NodeId sum_of_scaled(NodeId a, NodeId b, bool subtract);
  NodeId ordered(Op op, NodeId a, NodeId b);
  NodeId scale(NodeId a, double factor);
  NodeId scaled_product(NodeId a, NodeId b);
  NodeId mul_powers(NodeId a, NodeId b);
  NodeId div_signs_and_factors(NodeId a, NodeId b);
  NodeId div_quotients(NodeId a, NodeId b);
  NodeId divide_by_constant(NodeId a, double c);
  NodeId abs(NodeId a);
  NodeId extremum(Op op, NodeId a, NodeId b);
  NodeId sqrt(NodeId a);
  NodeId hypot(NodeId a, NodeId b);
  NodeId pow(NodeId a, NodeId b);
  NodeId pow_of_constant(double base, NodeId y);
  NodeId pow_by_constant(NodeId a, double exponent);
  NodeId select(NodeId c, NodeId a, NodeId b);
  NodeId through_select(Op op, NodeId a, NodeId b);
  NodeId logic(Op op, NodeId a, NodeId b);
  NodeId integral(Op op, NodeId a);
  NodeId copysign(NodeId a, NodeId b);

  Builder b_;
  Ranges ranges_;
  std::vector<Place> places_;
  bool unsigned_zeros_;
  bool real_;
  bool roomy_;
  const bool allowed_unsigned_zeros_;
  const bool allowed_real_;
  const bool allowed_roomy_;
  int depth_ = 0;
};

}  // namespace trident::expr
