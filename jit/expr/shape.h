// How often a value exists in one call: the sections of a kernel as the front end sees them.
//
//   uniform   once, known before the loop: constants, scalar parameters, elements of tables that these number
//   element   once per element: whatever depends on an array or on the element's number
//   total     once, known after the loop: whatever depends on a reduction
//
// A total cannot meet an element: that would take a second pass over the arrays, which is a second kernel.
#pragma once

#include <optional>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::expr {

enum class Shape : std::uint8_t { uniform, element, total };

/// Returns the shape of a value made from values of shapes `a` and `b`; nothing when they cannot meet.
constexpr std::optional<Shape> meet(Shape a, Shape b) {
  if (a == Shape::uniform) return b;
  if (b == Shape::uniform || a == b) return a;
  return std::nullopt;
}

/// The shape of `node`, given those of all earlier nodes; nothing when its operands cannot meet or when a total is
/// reduced again. `variables` are those of the expression.
std::optional<Shape> shape_of(const Node& node, const std::vector<Shape>& earlier,
                              const std::vector<Variable>& variables);

/// Returns whether `op` makes a total of elements.
constexpr bool makes_total(Op op) {
  return info(op).signature == Signature::Reduce || info(op).signature == Signature::Reduce2;
}
/// Returns the op that joins the elements of the reduction `op`.
constexpr Op joining_op(Op op) {
  if (op == Op::MinOf) return Op::Min;
  if (op == Op::MaxOf) return Op::Max;
  return op == Op::Prod ? Op::Mul : Op::Add;
}

/// Returns whether there are reductions. Without one no value is a total and all shapes meet.
bool has_reductions(const Expr& expr);

/// Returns the shape of every node of a checked expression.
std::vector<Shape> shapes_of(const Expr& expr);

/// An output that depends on a reduction is one element; every other output is an array.
constexpr kir::OutputKind output_kind(Shape shape) {
  return shape == Shape::total ? kir::OutputKind::scalar : kir::OutputKind::array;
}

}  // namespace trident::expr
