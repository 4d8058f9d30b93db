#include "jit/equiv/corners.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace trident::equiv {
namespace {

/// Points of the set of corners.
constexpr std::size_t kCornersMax = 4096;

// Returns combination number `index`.
Point combination(const Corners& values, std::size_t index) {
  Point p;
  for (const auto& list : values) {
    p.push_back(list[index % list.size()]);
    index /= list.size();
  }
  return p;
}

// Adds every corner of every variable among ordinary values of the others, then corners of all variables at random.
void mix_corners(PointDrawer& drawer, const SetLayout& layout, const Corners& values, const Samples& uniform,
                 std::vector<Point>& points) {
  for (std::size_t v = 0; v < drawer.variables() && points.size() < kCornersMax * 3 / 4; ++v) {
    for (const Bits corner : values[v]) {
      points.push_back(layout.point(uniform, drawer.random().below(uniform.n)));
      points.back()[v] = corner;
    }
  }
  while (points.size() < kCornersMax) {
    Point p;
    for (const auto& corner : values) p.push_back(corner[drawer.random().below(corner.size())]);
    points.push_back(std::move(p));
  }
}

}  // namespace

Corners corners_of(const PointDrawer& drawer) {
  Corners corners;
  for (const auto& variable : drawer.expr().variables) corners.push_back(corner_values(variable, drawer.constants()));
  return corners;
}

void add_extremes(const expr::Expr& expr, std::vector<Point>& points) {
  constexpr std::size_t kCombinationsMax = 1024;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const bool ends_only : {false, true}) {
    std::vector<std::vector<Bits>> values;
    std::size_t combinations = 1;
    for (const auto& variable : expr.variables) {
      std::vector<Bits>& list = values.emplace_back();
      const auto add = [&](Bits bits) {
        if (allowed(variable, bits) && std::find(list.begin(), list.end(), bits) == list.end()) list.push_back(bits);
      };
      for (const double end : {0.0, 1.0}) {
        const double x = end == 0 ? variable.lo : variable.hi;
        const bool inside = ir::is_float(variable.type) && std::isfinite(x);  // an end may lie between two values
        add(inside ? value_at(variable, Way::uniform, {end, false, 0}) : bits_of(variable.type, x));
      }
      if (list.empty() || !ends_only)
        for (const double x : {0.0, -0.0, -kInfinity, kInfinity, std::numeric_limits<double>::quiet_NaN()})
          add(bits_of(variable.type, x));
      combinations = combinations > kCombinationsMax ? combinations : combinations * list.size();
    }
    if (combinations > kCombinationsMax || combinations == 0) {
      // All at their first, second, ... value together.
      for (std::size_t i = 0; i < 8; ++i) {
        Point& p = points.emplace_back();
        for (const auto& list : values) p.push_back(list.empty() ? 0 : list[i % list.size()]);
      }
      continue;
    }
    for (std::size_t i = 0; i < combinations; ++i) points.push_back(combination(values, i));
    return;
  }
}

void add_company(PointDrawer& drawer, std::vector<Point>& points) {
  constexpr std::size_t kPointsMax = 1024;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (drawer.variables() < 2) return;
  std::vector<std::pair<std::size_t, Bits>> special;
  for (std::size_t v = 0; v < drawer.variables(); ++v) {
    const auto& variable = drawer.expr().variables[v];
    if (!ir::is_float(variable.type)) continue;
    for (const double x : {-kInfinity, kInfinity, 0.0, -0.0, std::numeric_limits<double>::quiet_NaN()})
      if (const Bits bits = bits_of(variable.type, x); allowed(variable, bits)) special.emplace_back(v, bits);
  }
  const std::size_t rounds = special.empty() ? 0 : std::min<std::size_t>(32, kPointsMax / special.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const auto& [which, bits] : special) {
      Point& p = points.emplace_back();
      for (std::size_t v = 0; v < drawer.variables(); ++v)
        p.push_back(v == which ? bits
                               : draw(drawer.expr().variables[v], kWays[round % std::size(kWays)], drawer.random()));
    }
  }
}

void add_combinations(PointDrawer& drawer, const SetLayout& layout, const Corners& corners, const Samples& uniform,
                      std::vector<Point>& points) {
  std::size_t grid = 1;
  for (const auto& list : corners) grid = grid > kCornersMax ? grid : grid * list.size();
  if (grid > kCornersMax) return mix_corners(drawer, layout, corners, uniform, points);
  for (std::size_t i = 0; i < grid; ++i) points.push_back(combination(corners, i));
}

}  // namespace trident::equiv
