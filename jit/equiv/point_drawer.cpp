#include "jit/equiv/point_drawer.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace trident::equiv {

PointDrawer::PointDrawer(const expr::Expr& expr, const SampleOptions& options)
    : expr_(expr), options_(options), random_(options.seed) {
  constexpr std::size_t kConstantsMax = 16;
  for (const auto& node : expr.nodes)
    if (node.op == expr::Op::Constant) constants_.push_back(value_of(node.type, node.imm));
  std::sort(constants_.begin(), constants_.end());
  constants_.erase(std::unique(constants_.begin(), constants_.end()), constants_.end());
  if (constants_.size() > kConstantsMax) constants_.resize(kConstantsMax);
}

Point PointDrawer::independent(Way way) {
  Point p;
  p.reserve(variables());
  for (const auto& variable : expr_.variables) p.push_back(draw(variable, way, random_));
  return p;
}

Point PointDrawer::mixed() {
  constexpr Way kFarOut[] = {Way::vast, Way::tiny, Way::spread};
  Point p;
  p.reserve(variables());
  for (const auto& variable : expr_.variables)
    p.push_back(draw(variable, kFarOut[random_.below(std::size(kFarOut))], random_));
  return p;
}

Point PointDrawer::alike(Way way) {
  const double one = random_.unit();
  double two = random_.unit();
  const std::uint64_t kind = random_.below(4);
  if (kind < 2) two = one;
  if (kind == 2) two = std::clamp(one + (two - 0.5) / 16, 0.0, 1.0);
  Point p;
  p.reserve(variables());
  for (const auto& variable : expr_.variables)
    p.push_back(draw_at(variable, way, random_.next() % 2 == 0 ? one : two, random_));
  return p;
}

void PointDrawer::vary_others(const Point& point, const std::vector<bool>& deciding, std::vector<Point>& found) {
  for (const Way way : kWays) {
    Point& p = found.emplace_back(point);
    for (std::size_t v = 0; v < variables(); ++v)
      if (!deciding[v]) p[v] = draw(expr_.variables[v], way, random_);
  }
  for (int i = 0; i < 4; ++i) {
    Point& p = found.emplace_back(point);
    for (std::size_t v = 0; v < variables(); ++v)
      if (!deciding[v] && random_.next() % 2 == 0) p[v] = special(v, p[v]);
  }
}

Bits PointDrawer::special(std::size_t v, Bits ordinary) {
  constexpr double kValues[] = {-INFINITY, INFINITY, NAN, 0.0, -0.0};
  const auto& variable = expr_.variables[v];
  const Bits bits = bits_of(variable.type, kValues[random_.below(std::size(kValues))]);
  return ir::is_float(variable.type) && allowed(variable, bits) ? bits : ordinary;
}

}  // namespace trident::equiv
