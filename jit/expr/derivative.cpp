// Replaces Diff nodes by expressions.
//
// Each op has its partial derivatives in one table (tangents.h); the forward pass multiplies them into tangents (one
// variable), the reverse pass into adjoints (several variables of one expression). Diff nodes are replaced in order,
// inner ones first, so that second derivatives are derivatives of the expression that an inner one became. Factors of
// zero and one never become nodes.
//
// A quotient q = a / b costs one more division: (a' - q b') / b where q is needed anyway, else (a' - (a r) b') r with
// r = 1 / b. The square b^2 would leave the type's range long before the quotient does.
//
// Conventions where no derivative exists. abs: sign(a), so 0 at 0. min and max: at a tie the first operand's, and as
// in the value a NaN operand leaves the other alone. select: the chosen branch's, the condition counts as constant.
// floor, ceil, round, rint, trunc, sign and everything of integer or truth value: 0. fmod(a, b): as if the quotient's
// integer part were constant. copysign(a, b): the sign of b counts as constant. pow(a, b): b * pow(a, b - 1) and log(a)
// * pow(a, b), the latter NaN at a = 0. sum, mean and dot have derivatives with respect to parameters only: with
// respect to an array they would be arrays again.
#include <algorithm>
#include <array>
#include <optional>

#include "jit/expr/compact.h"
#include "jit/expr/expr.h"
#include "jit/expr/shape.h"
#include "jit/expr/tangents.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

// Derivatives may be longer than a submitted expression may be.
constexpr std::uint32_t kNodesMax = 4 * limits::kExprNodesMax;

// Makes derivatives, forwards or backwards.
class Differentiator : private Tangents {
 public:
  /// `values`: per node of the builder, as far as it goes, whether its value is needed whatever the derivatives are.
  Differentiator(Builder& builder, const std::vector<bool>& values) : Tangents(builder), values_(values) {}

  /// Returns the derivative of `e` with respect to `x`, forwards.
  Result<NodeId> forward(NodeId e, NodeId x) {
    const std::vector<bool> depends = dependence(e, {x});
    depends_ = &depends, needed_.clear();
    std::vector<NodeId> tangent(e.index + 1);
    for (const std::uint32_t i : reached_) {
      if (!depends[i]) continue;
      if (b_.size() > kNodesMax) return too_large();
      const Node node = b_.at(NodeId(i));
      if (NodeId(i) == x) {
        tangent[i] = constant(node.type, 1);
        continue;
      }
      TRY(tangent[i], push(NodeId(i), node, tangent, x));
    }
    return tangent[e.index].valid() ? tangent[e.index] : constant(b_.type_of(e), 0);
  }

  /// Returns the derivatives of `e` with respect to each of `xs`, backwards. Only for expressions without reductions.
  Result<std::vector<NodeId>> reverse(NodeId e, const std::vector<NodeId>& xs) {
    const std::vector<bool> depends = dependence(e, xs);
    depends_ = &depends, needed_.clear();
    std::vector<NodeId> adjoint(e.index + 1);
    adjoint[e.index] = constant(b_.type_of(e), 1);
    for (std::size_t k = reached_.size(); k-- > 0;) {
      const std::uint32_t i = reached_[k];
      if (!depends[i] || !adjoint[i].valid()) continue;
      if (b_.size() > kNodesMax) return too_large();
      pull(NodeId(i), b_.at(NodeId(i)), depends, adjoint);
    }
    std::vector<NodeId> out;
    for (const NodeId x : xs) {
      const NodeId d = x.index <= e.index ? adjoint[x.index] : NodeId();
      out.push_back(cast(b_.type_of(e), d.valid() ? d : constant(b_.type_of(x), 0)));
    }
    return out;
  }

  /// Returns whether a reduction that depends on one of `xs` lies below `e`.
  bool reduces(NodeId e, const std::vector<NodeId>& xs) {
    const std::vector<bool> depends = dependence(e, xs);
    for (const std::uint32_t i : reached_) {
      if (depends[i] && makes_total(b_.at(NodeId(i)).op)) return true;
    }
    return false;
  }

 private:
  static Error too_large() {
    return make_error(ErrorCode::kLimitExceeded, "the derivatives have more than %u operations, inputs and constants",
                      kNodesMax);
  }

  // Finds, per node up to `e`, whether e reaches it and it reaches one of xs through values that have derivatives.
  // Appends the reached nodes to `reached_`: each of many derivatives sees a small part of the expression.
  std::vector<bool> dependence(NodeId e, const std::vector<NodeId>& xs);

  // Returns whether a value is needed besides its derivative. Computed on demand: few derivatives ask.
  bool is_needed(NodeId id) {
    if (needed_.empty()) find_needed(*depends_);
    return needed_[id.index];
  }

  // Finds the values that are needed: those asked for, and those that the derivatives of their users read.
  void find_needed(const std::vector<bool>& depends) {
    needed_.assign(depends.size(), false);
    for (const std::uint32_t i : reached_) {
      if (i < values_.size() && values_[i]) needed_[i] = true;
      if (!depends[i]) continue;
      const Node n = b_.at(NodeId(i));
      const bool product = n.op == Op::Mul || n.op == Op::Fma;
      if (has(n.op, kLinear) || n.op == Op::Select) continue;
      if (n.a.valid() && !((product || n.op == Op::Div) && !depends[n.b.index])) needed_[n.a.index] = true;
      if (n.b.valid() && !(product && !depends[n.a.index])) needed_[n.b.index] = true;
    }
  }

  // Returns the tangent of `node` from those of its operands.
  Result<NodeId> push(NodeId id, Node node, const std::vector<NodeId>& tangent, NodeId x);

  // Returns the tangent of a quotient from its operands' tangents; the first may be zero.
  NodeId quotient(NodeId id, Node node, NodeId ta, NodeId tb) {
    if (is_reciprocal(node)) return b_.op(Op::Neg, mul(mul(tb, id), id));
    if (is_needed(id)) {
      const NodeId part = mul(tb, id);
      return b_.op(Op::Div, ta.valid() ? sum(ta, part, true) : b_.op(Op::Neg, part), node.b);
    }
    const NodeId reciprocal = b_.op(Op::Recip, node.b), part = mul(tb, b_.op(Op::Mul, node.a, reciprocal));
    return b_.op(Op::Mul, ta.valid() ? sum(ta, part, true) : b_.op(Op::Neg, part), reciprocal);
  }

  // Returns the adjoints of a quotient's operands from its own; the second is still to be subtracted.
  std::array<NodeId, 2> quotient_shares(NodeId id, Node node, NodeId t) {
    if (is_reciprocal(node)) return {mul(t, id), mul(mul(t, id), id)};
    if (is_needed(id)) {
      const NodeId share = is_one(t) ? b_.op(Op::Recip, node.b) : b_.op(Op::Div, t, node.b);
      return {share, b_.op(Op::Mul, share, id)};
    }
    const NodeId reciprocal = b_.op(Op::Recip, node.b), share = mul(t, reciprocal);
    return {share, b_.op(Op::Mul, share, b_.op(Op::Mul, node.a, reciprocal))};
  }

  Result<NodeId> reduction(Node node, NodeId ta, NodeId tb, NodeId x) {
    const Variable& variable = b_.expr().variables[b_.at(x).imm];
    if (!variable.is_scalar()) {
      return make_error(ErrorCode::kUnsupported,
                        "the derivative of %s with respect to the array '%s' is an array: write the derivative of what "
                        "it reduces",
                        info(node.op).text.data(), variable.name.c_str());
    }
    if (node.op != Op::Dot && !has(node.op, kLinear)) {
      return make_error(ErrorCode::kUnsupported, "%s has no derivative", info(node.op).text.data());
    }
    if (node.op != Op::Dot) return ta.valid() ? b_.op(node.op, ta) : ta;
    const NodeId left = ta.valid() ? b_.op(Op::Dot, ta, node.b) : ta;
    return sum(left, tb.valid() ? b_.op(Op::Dot, node.a, tb) : tb, false);
  }

  // Adds the adjoint of `node`, times its partials, to those of its operands.
  void pull(NodeId id, Node node, const std::vector<bool>& depends, std::vector<NodeId>& adjoint);
  const std::vector<bool>& values_;
  std::vector<std::uint32_t> reached_;          ///< of the derivative that is being made, operands first
  const std::vector<bool>* depends_ = nullptr;  ///< of the derivative that is being made
  std::vector<bool> needed_;                    ///< empty until something asks
};

std::vector<bool> Differentiator::dependence(NodeId e, const std::vector<NodeId>& xs) {
  std::vector<bool> reached(e.index + 1, false), depends(e.index + 1, false);
  reached[e.index] = true;
  reached_ = {e.index};
  for (std::size_t k = 0; k < reached_.size(); ++k) {
    const Node n = b_.at(NodeId(reached_[k]));
    for (const NodeId operand : {n.a, n.b, n.c}) {
      if (!operand.valid() || reached[operand.index]) continue;
      reached[operand.index] = true;
      reached_.push_back(operand.index);
    }
  }
  std::sort(reached_.begin(), reached_.end());
  for (const NodeId x : xs) {
    if (x.index <= e.index) depends[x.index] = reached[x.index];
  }
  for (const std::uint32_t i : reached_) {
    const Node n = b_.at(NodeId(i));
    if (!ir::is_float(n.type)) continue;
    for (const NodeId operand : {n.a, n.b, n.c}) {
      if (operand.valid() && depends[operand.index]) depends[i] = true;
    }
  }
  return depends;
}

Result<NodeId> Differentiator::push(NodeId id, Node node, const std::vector<NodeId>& tangent, NodeId x) {
  const auto of = [&](NodeId operand) { return operand.valid() ? tangent[operand.index] : NodeId(); };
  if (node.op == Op::Select) return choose(node.a, of(node.b), of(node.c), node.type);
  if (node.op == Op::Min || node.op == Op::Max) return choose(first_wins(node), of(node.a), of(node.b), node.type);
  if (node.op == Op::Cast) return cast(node.type, of(node.a));
  const Signature signature = info(node.op).signature;
  if (makes_total(node.op)) return reduction(node, of(node.a), of(node.b), x);
  if (signature == Signature::Read)
    return NodeId();  // tables are constant, and their elements' numbers have steps only
  if (node.op == Op::Div && of(node.b).valid()) return quotient(id, node, of(node.a), of(node.b));
  const Partials p = partials_of(id, node);
  NodeId total;
  const Partial partial[] = {p.a, p.b, p.c};
  const NodeId operands[] = {node.a, node.b, node.c};
  for (int k = 0; k < 3; ++k) {
    const NodeId t = of(operands[k]);
    if (t.valid()) total = sum(total, apply(partial[k], t), partial[k].negative);
  }
  return total;
}

void Differentiator::pull(NodeId id, Node node, const std::vector<bool>& depends, std::vector<NodeId>& adjoint) {
  const NodeId t = adjoint[id.index];
  const auto give = [&](NodeId operand, NodeId share, bool negative) {
    if (!operand.valid() || !depends[operand.index] || !share.valid()) return;
    NodeId& sink = adjoint[operand.index];
    sink = sum(sink, share, negative);
  };
  if (node.op == Op::Variable || info(node.op).signature == Signature::Read) return;
  if (node.op == Op::Select) {
    if (depends[node.b.index]) give(node.b, choose(node.a, t, {}, node.type), false);
    if (depends[node.c.index]) give(node.c, choose(node.a, {}, t, node.type), false);
    return;
  }
  if (node.op == Op::Min || node.op == Op::Max) {
    const NodeId first = first_wins(node);
    if (depends[node.a.index]) give(node.a, choose(first, t, {}, node.type), false);
    if (depends[node.b.index]) give(node.b, choose(first, {}, t, node.type), false);
    return;
  }
  if (node.op == Op::Cast) {
    if (ir::is_float(b_.type_of(node.a))) give(node.a, cast(b_.type_of(node.a), t), false);
    return;
  }
  if (node.op == Op::Div && depends[node.b.index]) {
    const auto [to_a, to_b] = quotient_shares(id, node, t);
    give(node.a, to_a, false), give(node.b, to_b, true);
    return;
  }
  const Partials p = partials_of(id, node);
  const Partial partial[] = {p.a, p.b, p.c};
  const NodeId operands[] = {node.a, node.b, node.c};
  for (int k = 0; k < 3; ++k) {
    if (operands[k].valid() && depends[operands[k].index]) {
      give(operands[k], apply(partial[k], t), partial[k].negative);
    }
  }
}

// Rebuilds `source` without its Diff nodes.
class Elimination {
 public:
  explicit Elimination(const Expr& source)
      : source_(source), builder_(out_), differentiator_(builder_, values_), is_value_(source.nodes.size(), false) {
    out_.variables = source.variables;
    for (const Output& o : source.outputs) is_value_[o.node.index] = true;
    for (std::size_t i = source.nodes.size(); i-- > 0;) {
      const Node& n = source.nodes[i];
      if (!is_value_[i] || n.op == Op::Diff) continue;
      for (const NodeId operand : {n.a, n.b, n.c})
        if (operand.valid()) is_value_[operand.index] = true;
    }
  }

  Result<Expr> run() {
    moved_.resize(source_.nodes.size());
    for (std::uint32_t i = 0; i < source_.nodes.size(); ++i) {
      if (moved_[i].valid()) continue;  // made together with an earlier derivative of the same expression
      Node node = source_.nodes[i];
      if (node.op == Op::Diff) {
        TRY_VOID(derive(i));
        continue;
      }
      for (NodeId* operand : {&node.a, &node.b, &node.c}) {
        if (operand->valid()) *operand = moved_[operand->index];
      }
      moved_[i] = builder_.add(node);
      if (!is_value_[i]) continue;
      values_.resize(std::max<std::size_t>(values_.size(), builder_.size()), false);
      values_[moved_[i].index] = true;
    }
    for (const Output& o : source_.outputs) out_.outputs.push_back({o.name, moved_[o.node.index], o.storage});
    drop_unused(out_);
    return std::move(out_);
  }

 private:
  Result<void> derive(std::uint32_t first) {
    // All derivatives of this expression whose variable has been met.
    const NodeId e = source_.nodes[first].a;
    std::vector<std::uint32_t> group;
    std::vector<NodeId> xs;
    for (std::uint32_t i = first; i < source_.nodes.size(); ++i) {
      const Node& n = source_.nodes[i];
      if (n.op != Op::Diff || n.a != e) continue;
      group.push_back(i);
      xs.push_back(builder_.variable(static_cast<std::uint32_t>(source_.at(n.b).imm)));
    }
    const NodeId value = moved_[e.index];
    if (group.size() > 1 && !differentiator_.reduces(value, xs)) {
      TRY(const std::vector<NodeId> gradient, differentiator_.reverse(value, xs));
      for (std::size_t k = 0; k < group.size(); ++k) moved_[group[k]] = gradient[k];
      return {};
    }
    for (std::size_t k = 0; k < group.size(); ++k) {
      TRY(moved_[group[k]], differentiator_.forward(value, xs[k]));
    }
    return {};
  }

  const Expr& source_;
  Expr out_;
  Builder builder_;
  std::vector<bool> values_;  ///< per node of the builder: Differentiator
  Differentiator differentiator_;
  std::vector<bool> is_value_;  ///< per node of the source: an output needs it, and not only its derivative
  std::vector<NodeId> moved_;
};

}  // namespace

Result<Expr> eliminate_derivatives(const Expr& expr) {
  return Elimination(expr).run();
}

bool has_derivatives(const Expr& expr) {
  return std::any_of(expr.nodes.begin(), expr.nodes.end(), [](const Node& n) { return n.op == Op::Diff; });
}

}  // namespace trident::expr
