#include "jit/equiv/sides.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "jit/equiv/probe.h"

namespace trident::equiv {
namespace {

using expr::Op;

/// Pairs of points between which steps are sought.
constexpr std::size_t kStepPairsMax = 48;
constexpr std::size_t kStepPairsPerNode = 4;
/// Pairs for jumps: more, so that rare exact hits, as in floor(x / 49), are among them.
constexpr std::size_t kJumpPairsMax = 128;
constexpr std::size_t kJumpPairsPerNode = 48;

bool is_decision(const expr::Node& node) {
  const expr::OpInfo& row = expr::info(node.op);
  const bool picks = row.continuity == expr::Continuity::kink || node.op == Op::Sign;
  return expr::rounds_to_integer(node.op) || picks || row.signature == expr::Signature::Compare;
}

// Returns whether a node is a jump: on floats, and not a choice between two values that are equal where it changes.
bool is_jump(const expr::Expr& expr, const expr::Node& node) {
  if (!is_decision(node) || expr::info(node.op).continuity == expr::Continuity::kink) return false;
  return ir::is_float(expr.at(node.a).type);
}

// Returns the nodes that `which` picks, of those that have a value per element.
template <class Which>
std::vector<std::uint32_t> decisions(const expr::Expr& expr, Which which) {
  std::vector<std::uint32_t> list;
  const std::vector<expr::Shape> shapes = expr::shapes_of(expr);
  for (std::uint32_t i = 0; i < expr.nodes.size(); ++i)
    if (which(expr.nodes[i]) && shapes[i] == expr::Shape::element) list.push_back(i);
  return list;
}

// Makes pairs of points on two sides of a step by bisection: both sides of every step that a straight line between
// the two points of draw(node) crosses. Calls found(node, low, high).
template <class Draw, class Found>
void step_pairs(const PointDrawer& drawer, const std::vector<std::uint32_t>& steps, std::size_t pairs, Draw draw,
                Found found) {
  if (steps.empty()) return;
  Probe probe(drawer.expr());
  for (std::size_t pair = 0; pair < pairs && !(drawer.cancelled()); ++pair) {
    const std::uint32_t node = steps[pair % steps.size()];
    auto [low, high] = draw(node);
    if (probe.close_in(node, low, high)) found(node, std::move(low), std::move(high));
  }
}

// Lets both ends differ in one deciding variable, while the others have few bits. On such a line a sum or a product
// is met where it is exact, and the reference knows the side.
void move_one(PointDrawer& drawer, std::uint32_t node, std::array<Point, 2>& ends) {
  constexpr double kFewBits[] = {1, 2, 1, 0.5, 4, 3, 7, 1};
  const std::vector<bool> deciding = variables_of(drawer.expr(), expr::NodeId(node));
  std::vector<std::size_t> movable;
  for (std::size_t v = 0; v < drawer.variables(); ++v)
    if (deciding[v]) movable.push_back(v);
  if (movable.size() < 2) return;
  const std::size_t moved = movable[drawer.random().below(movable.size())];
  for (std::size_t v = 0; v < drawer.variables(); ++v) {
    if (v == moved) continue;
    const auto& variable = drawer.expr().variables[v];
    Bits few = ir::is_float(variable.type) && drawer.random().below(2) == 0
                   ? bits_of(variable.type, std::rint(value_of(variable.type, ends[0][v])))
                   : bits_of(variable.type, kFewBits[drawer.random().below(std::size(kFewBits))]);
    if (!allowed(variable, few)) few = ends[0][v];
    ends[0][v] = ends[1][v] = few;
  }
}

}  // namespace

std::vector<Point> step_points(PointDrawer& drawer, const SetLayout& layout, const Samples& uniform) {
  const auto steps = decisions(drawer.expr(), [&](const expr::Node& n) { return is_decision(n); });
  std::vector<Point> points;
  step_pairs(
      drawer, steps, std::min(kStepPairsMax, steps.size() * kStepPairsPerNode),
      [&](std::uint32_t) {
        Point low = layout.point(uniform, drawer.random().below(uniform.n));
        return std::pair(std::move(low), layout.point(uniform, drawer.random().below(uniform.n)));
      },
      [&](std::uint32_t node, Point low, Point high) {
        const std::vector<bool> deciding = variables_of(drawer.expr(), expr::NodeId(node));
        for (Point* side : {&low, &high}) {
          drawer.vary_others(*side, deciding, points);
          points.push_back(std::move(*side));
        }
      });
  return points;
}

std::vector<Point> jump_points(PointDrawer& drawer, const SetLayout& layout, const Samples& uniform) {
  const auto jumps = decisions(drawer.expr(), [&](const expr::Node& n) { return is_jump(drawer.expr(), n); });
  std::vector<Point> points;
  // Wide ranges mostly use values up to some ten thousands: among uniform ones a step of one is nothing.
  constexpr double kWide = 0x1p20;
  const auto draw = [&](std::uint32_t node) {
    std::array<Point, 2> ends{layout.point(uniform, drawer.random().below(uniform.n)),
                              layout.point(uniform, drawer.random().below(uniform.n))};
    for (std::size_t v = 0; v < drawer.variables(); ++v) {
      const auto& variable = drawer.expr().variables[v];
      if (!ir::is_float(variable.type) || variable.hi - variable.lo < kWide) continue;
      for (Point& p : ends) {
        const double size = std::exp2(4 + static_cast<double>(drawer.random().below(13)));
        const Bits moderate = bits_of(variable.type, size * (2 * drawer.random().unit() - 1));
        if (allowed(variable, moderate)) p[v] = moderate;
      }
    }
    if (drawer.random().below(4) != 0) move_one(drawer, node, ends);
    return std::pair(std::move(ends[0]), std::move(ends[1]));
  };
  step_pairs(drawer, jumps, std::min(kJumpPairsMax, jumps.size() * kJumpPairsPerNode), draw,
             [&](std::uint32_t, Point low, Point high) {
               points.push_back(std::move(low));
               points.push_back(std::move(high));
             });
  return points;
}

}  // namespace trident::equiv
