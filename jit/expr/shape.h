// How often a value exists in one call: the sections of a kernel as the front end sees them.
//
//   uniform   once, known before the loop: constants, scalar parameters, elements of tables that these number
//   element   once per element: whatever depends on an array or on the element's number
//   total     once, known after the loop: whatever depends on reductions and on nothing that varies by element
//
// A value that depends on a total and varies by element exists once per element, in a later pass over the arrays: x -
// mean(x) takes two. A kernel of several passes (jit/kir/kir.h) computes it.
#pragma once

#include <optional>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::expr {

enum class Shape : std::uint8_t { uniform, element, total };

struct Place {
  Shape shape = Shape::uniform;
  std::uint8_t after = 0;  ///< passes that have ended before it can be known; never above kir::kPassesMax
};

/// Returns the place of `node`, given those of all earlier nodes; nothing when it would take more than kir::kPassesMax
/// passes. `variables` are those of the expression.
std::optional<Place> place_of(const Node& node, const std::vector<Place>& earlier,
                              const std::vector<Variable>& variables);

/// Returns whether `op` makes a total of elements.
constexpr bool makes_total(Op op) {
  const Signature signature = info(op).signature;
  return signature == Signature::Reduce || signature == Signature::Reduce2 || signature == Signature::Locate;
}
/// Returns the op that joins the elements of the reduction `op`.
constexpr Op joining_op(Op op) {
  CHECK(info(op).joined_by != Op::Constant);
  return info(op).joined_by;
}

/// Returns whether there are reductions. Without one no value is a total and all shapes meet.
bool has_reductions(const Expr& expr);

/// Returns the place, or the shape alone, of every node of a checked expression.
std::vector<Place> places_of(const Expr& expr);
std::vector<Shape> shapes_of(const Expr& expr);

/// Returns the number of passes over the arrays that the outputs of a checked expression take, at least one.
std::uint32_t passes_of(const Expr& expr);
std::uint32_t passes_of(const Expr& expr, const std::vector<Place>& places);

/// An output that depends on a reduction is one element; every other output is an array.
constexpr kir::OutputKind output_kind(Shape shape) {
  return shape == Shape::total ? kir::OutputKind::scalar : kir::OutputKind::array;
}

}  // namespace trident::expr
