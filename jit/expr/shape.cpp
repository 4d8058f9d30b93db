#include "jit/expr/shape.h"

#include <algorithm>
#include <array>

namespace trident::expr {
namespace {

/// Returns the passes that a reduction takes: the greatest element is known before its number is sought.
constexpr std::uint8_t passes_of_op(Op op) {
  return info(op).signature == Signature::Locate ? 2 : 1;
}

constexpr auto kMakesTotal = [] {
  std::array<bool, kOpCount> table{};
  for (std::size_t op = 0; op < kOpCount; ++op) table[op] = makes_total(static_cast<Op>(op));
  return table;
}();

}  // namespace

std::optional<Place> place_of(const Node& node, const std::vector<Place>& earlier,
                              const std::vector<Variable>& variables) {
  if (node.op == Op::Variable)
    return Place{variables[node.imm].kind == VariableKind::array ? Shape::element : Shape::uniform, 0};
  if (node.op == Op::Diff) return earlier[node.a.index];
  Place place;
  if (node.op == Op::Index || node.op == Op::Strided) place.shape = Shape::element;
  for (const NodeId operand : {node.a, node.b, node.c}) {
    if (!operand.valid()) continue;
    const Place& met = earlier[operand.index];
    place.after = std::max(place.after, met.after);
    if (place.shape != Shape::element && met.shape != Shape::uniform) place.shape = met.shape;
  }
  if (makes_total(node.op)) place = {Shape::total, static_cast<std::uint8_t>(place.after + passes_of_op(node.op))};
  const bool one_more = place.shape == Shape::element;
  if (place.after + (one_more ? 1u : 0u) > kir::kPassesMax) return std::nullopt;
  return place;
}

bool has_reductions(const Expr& expr) {
  return std::any_of(expr.nodes.begin(), expr.nodes.end(),
                     [](const Node& node) { return kMakesTotal[static_cast<std::size_t>(node.op)]; });
}

std::vector<Place> places_of(const Expr& expr) {
  std::vector<Place> places;
  places.reserve(expr.nodes.size());
  for (const Node& node : expr.nodes) {
    const std::optional<Place> place = place_of(node, places, expr.variables);
    CHECK(place.has_value());
    places.push_back(*place);
  }
  return places;
}

std::vector<Shape> shapes_of(const Expr& expr) {
  std::vector<Shape> shapes;
  shapes.reserve(expr.nodes.size());
  for (const Place& place : places_of(expr)) shapes.push_back(place.shape);
  return shapes;
}

std::uint32_t passes_of(const Expr& expr, const std::vector<Place>& places) {
  std::uint32_t passes = 1;
  for (const Output& output : expr.outputs) {
    const Place& place = places[output.node.index];
    passes = std::max(passes, place.after + (place.shape == Shape::element ? 1u : 0u));
  }
  return passes;
}

std::uint32_t passes_of(const Expr& expr) {
  return has_reductions(expr) ? passes_of(expr, places_of(expr)) : 1;
}

}  // namespace trident::expr
