#include "jit/expr/shape.h"

#include <algorithm>

namespace trident::expr {

std::optional<Shape> shape_of(const Node& node, const std::vector<Shape>& earlier,
                              const std::vector<Variable>& variables) {
  if (node.op == Op::Variable) return variables[node.imm].kind == VariableKind::array ? Shape::element : Shape::uniform;
  if (node.op == Op::Index || node.op == Op::Strided) return Shape::element;
  if (node.op == Op::Diff) return earlier[node.a.index];
  // Which shapes the operands have, a bit each: a parser asks this of every node.
  const auto bit_of = [&](NodeId operand) {
    return operand.valid() ? 1u << static_cast<unsigned>(earlier[operand.index]) : 0u;
  };
  constexpr unsigned kElement = 1u << static_cast<unsigned>(Shape::element);
  constexpr unsigned kTotal = 1u << static_cast<unsigned>(Shape::total);
  const unsigned met = bit_of(node.a) | bit_of(node.b) | bit_of(node.c);
  if ((met & kElement) != 0 && (met & kTotal) != 0) return std::nullopt;
  if (makes_total(node.op)) {
    if ((met & kTotal) != 0) return std::nullopt;
    return Shape::total;
  }
  return (met & kTotal) != 0 ? Shape::total : (met & kElement) != 0 ? Shape::element : Shape::uniform;
}

bool has_reductions(const Expr& expr) {
  return std::any_of(expr.nodes.begin(), expr.nodes.end(), [](const Node& node) { return makes_total(node.op); });
}

std::vector<Shape> shapes_of(const Expr& expr) {
  std::vector<Shape> shapes;
  shapes.reserve(expr.nodes.size());
  for (const Node& node : expr.nodes) {
    const std::optional<Shape> shape = shape_of(node, shapes, expr.variables);
    CHECK(shape.has_value());
    shapes.push_back(*shape);
  }
  return shapes;
}

}  // namespace trident::expr
