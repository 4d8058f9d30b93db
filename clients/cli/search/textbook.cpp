#include "clients/cli/search/textbook.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "jit/expr/builder.h"
#include "jit/expr/compact.h"

namespace trident::cli {
namespace {

using expr::Node;
using expr::NodeId;
using expr::Op;

class Textbook {
 public:
  explicit Textbook(const expr::Expr& source) : source_(source), b_(made_) { made_.variables = source.variables; }

  std::optional<expr::Expr> run() {
    for (std::uint32_t i = 0; i < source_.nodes.size() && !missing_; ++i) copies_.push_back(copy(NodeId(i)));
    if (missing_) return std::nullopt;
    for (const expr::Output& o : source_.outputs) made_.outputs.push_back({o.name, copies_[o.node.index]});
    expr::drop_unused(made_);
    return std::move(made_);
  }

 private:
  NodeId copy(NodeId id) {
    Node n = source_.at(id);
    if (n.op == Op::Diff) return derivatives(n.a, source_.at(n.b).imm);
    if (n.a.valid()) n.a = copies_[n.a.index];
    if (n.b.valid()) n.b = copies_[n.b.index];
    if (n.c.valid()) n.c = copies_[n.c.index];
    return add(n);
  }

  // Both orders of a sum and of a product are one node: published figures count them so.
  NodeId add(Node n) {
    if ((n.op == Op::Add || n.op == Op::Mul) && n.b < n.a) std::swap(n.a, n.b);
    return b_.add(n);
  }
  NodeId op(Op o, NodeId x, NodeId y = {}) { return add({o, b_.type_of(x), x, y, {}, 0}); }

  // The derivative of `of`, after those of all nodes that it may use.
  NodeId derivatives(NodeId of, std::uint64_t variable) {
    std::vector<NodeId>& known = derivatives_[variable];
    for (std::uint32_t i = static_cast<std::uint32_t>(known.size()); i <= of.index && !missing_; ++i)
      known.push_back(derivative(NodeId(i), variable, known));
    return missing_ ? NodeId{} : known[of.index];
  }

  // The chain rule, factors of 1 and terms of 0 included. What the table lacks makes the whole missing.
  NodeId derivative(NodeId id, std::uint64_t variable, const std::vector<NodeId>& known) {
    const Node& n = source_.at(id);
    const auto number = [&](double v) { return b_.constant(n.type, v); };
    if (n.op == Op::Variable) return number(n.imm == variable ? 1 : 0);
    if (n.op == Op::Constant) return number(0);
    const NodeId self = copies_[id.index];
    const NodeId a = copies_[n.a.index], da = known[n.a.index];
    const NodeId b = n.b.valid() ? copies_[n.b.index] : a, db = n.b.valid() ? known[n.b.index] : da;
    if (n.op == Op::Add || n.op == Op::Sub) return op(n.op, da, db);
    if (n.op == Op::Mul) return op(Op::Add, op(Op::Mul, da, b), op(Op::Mul, a, db));
    if (n.op == Op::Div) return op(Op::Div, op(Op::Sub, op(Op::Mul, da, b), op(Op::Mul, a, db)), op(Op::Mul, b, b));
    if (n.op == Op::Neg) return op(Op::Neg, da);
    if (n.op == Op::Sin) return op(Op::Mul, op(Op::Cos, a), da);
    if (n.op == Op::Cos) return op(Op::Mul, op(Op::Neg, op(Op::Sin, a)), da);
    if (n.op == Op::Exp) return op(Op::Mul, self, da);
    if (n.op == Op::Log) return op(Op::Div, da, a);
    if (n.op == Op::Sqrt) return op(Op::Div, da, op(Op::Mul, number(2), self));
    if (n.op == Op::Tan) return op(Op::Mul, op(Op::Add, number(1), op(Op::Mul, self, self)), da);
    if (n.op == Op::Tanh) return op(Op::Mul, op(Op::Sub, number(1), op(Op::Mul, self, self)), da);
    if (n.op == Op::Sinh) return op(Op::Mul, op(Op::Cosh, a), da);
    if (n.op == Op::Cosh) return op(Op::Mul, op(Op::Sinh, a), da);
    if (n.op == Op::Pow && source_.at(n.b).op == Op::Constant)
      return op(Op::Mul, op(Op::Mul, b, op(Op::Pow, a, op(Op::Sub, b, number(1)))), da);
    missing_ = true;
    return {};
  }

  const expr::Expr& source_;
  expr::Expr made_;
  expr::Builder b_;
  std::vector<NodeId> copies_;                                // per node of the source
  std::map<std::uint64_t, std::vector<NodeId>> derivatives_;  // per variable, per node of the source
  bool missing_ = false;
};

}  // namespace

Result<expr::Expr> textbook_derivatives(const expr::Expr& source) {
  if (auto made = Textbook(source).run()) return std::move(*made);
  return expr::eliminate_derivatives(source);
}

}  // namespace trident::cli
