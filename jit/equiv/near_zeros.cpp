#include "jit/equiv/near_zeros.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "jit/equiv/critical.h"
#include "jit/equiv/probe.h"

namespace trident::equiv {
namespace {

// Returns a value at up to `distance`, a share of the variable's range; none if the range does not allow it.
Bits beside(PointDrawer& drawer, std::size_t v, Bits bits, double distance) {
  const auto& variable = drawer.expr().variables[v];
  const double range = variable.hi - variable.lo, x = value_of(variable.type, bits);
  const double by =
      distance * (std::isfinite(range) ? range : std::max(std::fabs(x), 1.0)) * (2 * drawer.random().unit() - 1);
  const Bits moved = bits_of(variable.type, x + by);
  return allowed(variable, moved) ? moved : bits;
}

constexpr int kBands = 3, kBandBits = 14;

/// Points at distances of one band from where a critical value is least.
struct Band {
  std::vector<Point> zeros;
  std::vector<bool> moves;  ///< by variable: the value depends on it
  int number = 0;
  Way way = Way::uniform;  ///< of the other variables
};

// Draws a point; `place` is that of its distance, in bands.
Point point_of(PointDrawer& drawer, const Band& band, const Point& zero, double place) {
  const double distance = std::exp2(-place * kBandBits);
  Point p = zero;
  for (std::size_t v = 0; v < drawer.variables(); ++v)
    p[v] =
        band.moves[v] ? beside(drawer, v, p[v], distance) : draw(drawer.expr().variables[v], band.way, drawer.random());
  return p;
}

// Draws more points of a band, by turns with points from the band outwards.
Samples more_of(const Band& band, const expr::Expr& expr, std::uint64_t count, std::uint64_t seed) {
  const SampleOptions options{.points = count, .seed = seed};
  PointDrawer drawer(expr, options);
  std::vector<std::vector<Bits>> points;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double unit = drawer.random().unit();
    const double place = i % 2 == 0 ? band.number + unit : (band.number + 1) * unit;
    points.push_back(point_of(drawer, band, band.zeros[i / 2 % band.zeros.size()], place));
  }
  return make_gathered(expr, "near", std::move(points));
}

}  // namespace

void add_near_zeros(PointDrawer& drawer, const SetLayout& layout, std::vector<Samples>& sets) {
  constexpr std::uint64_t kPointsOfSet = 64;
  constexpr int kStarts = 4;
  Probe probe(drawer.expr());
  for (const Probe::Target& target :
       critical_values(drawer.expr(), probe, [&] { return drawer.independent(Way::uniform); })) {
    std::vector<Point> zeros;
    for (int i = 0; i < kStarts; ++i) {
      if (drawer.cancelled()) return;
      zeros.push_back(probe.descend(target, drawer.independent(Way::uniform)));
    }
    const std::vector<bool> moves = probe.variables_of(target);
    for (int band = 0; band < kBands; ++band) {
      for (const Way way : {Way::uniform, Way::small}) {
        const Band here{zeros, moves, band, way};
        std::vector<Point> points;
        for (std::uint64_t i = 0; i < kPointsOfSet; ++i)
          points.push_back(point_of(drawer, here, zeros[i % kStarts], band + drawer.random().unit()));
        sets.push_back(layout.packed("near", points, 1));
        if (layout.elementwise())
          sets.back().more = [here](const expr::Expr& expr, std::uint64_t more, std::uint64_t seed) {
            return more_of(here, expr, more, seed);
          };
      }
    }
  }
}

void add_signs(PointDrawer& drawer, const SetLayout& layout, std::vector<Samples>& sets) {
  constexpr std::size_t kTries = 192, kPointsOfSet = 64;
  constexpr double kFewBits[] = {1, 2, -1, 0.5, 3, -2};
  Probe probe(drawer.expr());
  for (const Probe::Target& target : sign_values(drawer.expr())) {
    std::vector<Point> zeros;
    for (std::size_t i = 0; i < kTries && zeros.size() < kPointsOfSet; ++i) {
      if (drawer.cancelled()) return;
      Point p = drawer.independent(Way::uniform);
      for (std::size_t v = 0; v < drawer.variables(); ++v) {
        const Bits few = bits_of(drawer.expr().variables[v].type, kFewBits[drawer.random().below(std::size(kFewBits))]);
        if (drawer.random().below(2) == 0 && allowed(drawer.expr().variables[v], few)) p[v] = few;
      }
      if (probe.make_zero(target, p)) zeros.push_back(std::move(p));
    }
    if (!zeros.empty()) sets.push_back(layout.packed("near", zeros, 1));
  }
}

}  // namespace trident::equiv
