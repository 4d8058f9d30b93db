#include "jit/equiv/elements.h"

#include <string>
#include <utility>
#include <vector>

#include "jit/expr/builder.h"
#include "jit/expr/shape.h"
#include "runtime/base/check.h"
#include "runtime/base/limits.h"

namespace trident::equiv {
namespace {

using expr::Expr;
using expr::Node;
using expr::NodeId;
using expr::Op;
using expr::Shape;

class Writer {
 public:
  Writer(const Expr& from, std::size_t elements)
      : from_(from), elements_(elements), shapes_(expr::shapes_of(from)), builder_(to_), place_(from.nodes.size()) {}

  std::optional<Expr> run() {
    for (const expr::Variable& v : from_.variables) {
      first_.push_back(to_.variables.size());
      for (std::size_t e = 0; e < (is_array(v) ? elements_ : 1); ++e) {
        to_.variables.push_back(v);
        if (is_array(v)) to_.variables.back().name += "_" + std::to_string(e);
      }
    }
    if (to_.variables.size() > limits::kInputsMax) return std::nullopt;
    for (std::uint32_t i = 0; i < from_.nodes.size(); ++i) {
      const bool each = shapes_[i] == Shape::element;
      for (std::size_t e = 0; e < (each ? elements_ : 1); ++e)
        place_[i].push_back(expr::makes_total(from_.nodes[i].op) ? total(from_.nodes[i]) : node(from_.nodes[i], e));
    }
    for (const expr::Output& o : from_.outputs) to_.outputs.push_back({o.name, place_[o.node.index][0], o.storage});
    if (!expr::check(to_).ok()) return std::nullopt;
    return std::move(to_);
  }

 private:
  static bool is_array(const expr::Variable& v) { return v.kind == expr::VariableKind::array; }

  NodeId at(NodeId operand, std::size_t element) const {
    const std::vector<NodeId>& places = place_[operand.index];
    return places[places.size() > 1 ? element : 0];
  }

  NodeId node(Node node, std::size_t element) {
    if (node.op == Op::Variable) {
      node.imm = first_[node.imm] + (is_array(from_.variables[node.imm]) ? element : 0);
      return builder_.add(node);
    }
    if (node.op == Op::Index) return builder_.constant_int(node.type, static_cast<std::int64_t>(element));
    for (NodeId* operand : {&node.a, &node.b, &node.c})
      if (operand->valid()) *operand = at(*operand, element);
    if (node.op == Op::Strided) {
      const NodeId number = builder_.constant_int(expr::Type::i64, static_cast<std::int64_t>(element));
      const NodeId moved = apply(Op::Mul, expr::Type::i64, node.b, number);
      return apply(Op::Gather, node.type, node.a, apply(Op::Add, expr::Type::i64, moved, node.c));
    }
    return builder_.add(node);
  }

  NodeId total(const Node& node) {
    std::vector<NodeId> parts;
    for (std::size_t e = 0; e < elements_; ++e)
      parts.push_back(node.op == Op::Dot ? apply(Op::Mul, node.type, at(node.a, e), at(node.b, e)) : at(node.a, e));
    if (parts.size() == 3) std::swap(parts[1], parts[2]);  // the third partial result meets the first, then the second
    if (expr::info(node.op).signature == expr::Signature::Locate) return located(node);
    const Op join = expr::joining_op(node.op);
    NodeId made = parts[0];
    for (std::size_t e = 1; e < elements_; ++e) made = apply(join, node.type, made, parts[e]);
    if (node.op != Op::Mean) return made;
    return apply(Op::Div, node.type, made, builder_.constant(node.type, static_cast<double>(elements_)));
  }
  // The best element so far and its number; a NaN is better than any number.
  NodeId located(const Node& node) {
    NodeId best = at(node.a, 0), number = builder_.constant_int(node.type, 0);
    const expr::Type type = builder_.type_of(best);
    for (std::size_t e = 1; e < elements_; ++e) {
      const NodeId here = at(node.a, e);
      NodeId better = apply(node.op == Op::ArgMin ? Op::Lt : Op::Gt, expr::Type::b32, here, best);
      if (ir::is_float(type)) {
        const NodeId nan = apply(Op::Ne, expr::Type::b32, here, here),
                     none = apply(Op::Eq, expr::Type::b32, best, best);
        better = apply(Op::Or, expr::Type::b32, better, apply(Op::And, expr::Type::b32, nan, none));
      }
      best = builder_.op(Op::Select, better, here, best);
      const NodeId own = builder_.constant_int(node.type, static_cast<std::int64_t>(e));
      number = builder_.op(Op::Select, better, own, number);
    }
    return number;
  }
  NodeId apply(Op op, expr::Type type, NodeId a, NodeId b) { return builder_.add({op, type, a, b, {}, 0}); }

  const Expr& from_;
  std::size_t elements_;
  std::vector<Shape> shapes_;
  Expr to_;
  expr::Builder builder_;
  std::vector<std::uint64_t> first_;        ///< per variable
  std::vector<std::vector<NodeId>> place_;  ///< per node: one, or one for each element
};

}  // namespace

std::optional<Expr> of_elements(const Expr& expr, std::size_t elements) {
  CHECK(elements >= 1 && elements <= 3);
  return Writer(expr, elements).run();
}

}  // namespace trident::equiv
