#include "jit/equiv/branch_points.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "jit/equiv/branches.h"
#include "jit/equiv/probe.h"

namespace trident::equiv {
namespace {

// Draws the deciding variables: half get values that the source names or neighbours of these, most others corners;
// the rest any.
Point guess(PointDrawer& drawer, const std::vector<bool>& deciding, const Corners& corners) {
  const Way way = kWays[drawer.random().below(std::size(kWays))];
  Point p;
  for (std::size_t v = 0; v < drawer.variables(); ++v) {
    const auto& variable = drawer.expr().variables[v];
    p.push_back(draw(variable, way, drawer.random()));
    if (!deciding[v] || drawer.random().below(8) == 0) continue;
    if (!corners[v].empty()) p[v] = corners[v][drawer.random().below(corners[v].size())];
    if (drawer.constants().empty() || drawer.random().next() % 2 == 0) continue;
    double value = drawer.constants()[drawer.random().below(drawer.constants().size())];
    if (drawer.random().next() % 2 == 0) value += (drawer.random().unit() - 0.5) * 4 * std::max(std::fabs(value), 16.0);
    const Bits named = bits_of(variable.type, value);
    if (allowed(variable, named)) p[v] = named;
  }
  return p;
}

}  // namespace

bool explore_branches(PointDrawer& drawer, const SetLayout& layout, std::vector<Samples>& sets, const Corners& corners,
                      std::vector<Point>& points) {
  constexpr std::size_t kProbesMax = 3000, kProbesMin = 64, kProbedNodes = 600'000;  // for all ways together
  constexpr int kVariations = 4;
  constexpr std::size_t kFoundMax = 48;
  const std::vector<expr::Shape> shapes = expr::shapes_of(drawer.expr());
  const Branches branches = branches_of(drawer.expr());
  if (branches.ways.empty()) return branches.complete;
  const std::size_t probes =
      std::clamp(kProbedNodes / (branches.ways.size() * drawer.expr().nodes.size()), kProbesMin, kProbesMax);
  bool explored = true;
  Probe probe(drawer.expr());
  for (std::size_t w = 0; w < branches.ways.size(); ++w) {
    std::vector<bool> deciding(drawer.variables(), false);
    bool decided_by_elements = true;
    for (const Turn& turn : branches.ways[w]) {
      const expr::NodeId condition = drawer.expr().nodes[turn.node].a;
      decided_by_elements = decided_by_elements && shapes[condition.index] != expr::Shape::total;
      const std::vector<bool> these = variables_of(drawer.expr(), condition);
      for (std::size_t v = 0; v < drawer.variables(); ++v) deciding[v] = deciding[v] || these[v];
    }
    std::vector<Point> found;
    for (std::size_t attempt = 0; decided_by_elements && attempt < probes && found.size() < kFoundMax; ++attempt) {
      if (drawer.cancelled()) return false;
      Point p = attempt % 2 == 0 ? guess(drawer, deciding, corners) : drawer.independent(kWays[attempt / 2 % 3]);
      if (probe.takes(branches.ways[w], p)) found.push_back(std::move(p));
    }
    explored = explored && (!found.empty() || w >= branches.alone);
    if (found.empty()) continue;
    for (const Point& p : found) drawer.vary_others(p, deciding, points);
    points.insert(points.end(), found.begin(), found.end());
    const bool decided_by_all = std::find(deciding.begin(), deciding.end(), false) == deciding.end();
    for (const Way way : {Way::uniform, Way::spread, Way::small}) {
      if (decided_by_all && way != Way::uniform) break;  // there is nothing to vary: it would be the same set
      std::vector<Point> varied;
      for (std::size_t i = 0; i < found.size() * kVariations; ++i) {
        Point& p = varied.emplace_back(found[i % found.size()]);
        for (std::size_t v = 0; v < drawer.variables(); ++v)
          if (!deciding[v]) p[v] = draw(drawer.expr().variables[v], way, drawer.random());
      }
      sets.push_back(layout.packed("branch", varied, 1));
    }
  }
  return explored;
}

}  // namespace trident::equiv
