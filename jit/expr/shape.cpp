#include "jit/expr/shape.h"

namespace trident::expr {

std::optional<Shape> shape_of(const Node& node, const std::vector<Shape>& earlier,
                              const std::vector<Variable>& variables) {
  if (node.op == Op::Variable) return variables[node.imm].scalar ? Shape::uniform : Shape::element;
  if (node.op == Op::Diff) return earlier[node.a.index];
  std::optional<Shape> shape = Shape::uniform;
  for (const NodeId operand : {node.a, node.b, node.c}) {
    if (operand.valid() && shape) shape = meet(*shape, earlier[operand.index]);
  }
  const Signature signature = info(node.op).signature;
  if (shape && (signature == Signature::Reduce || signature == Signature::Reduce2)) {
    if (*shape == Shape::total) return std::nullopt;
    return Shape::total;
  }
  return shape;
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
