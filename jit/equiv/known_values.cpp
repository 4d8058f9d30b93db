#include "jit/equiv/known_values.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "jit/equiv/evaluator.h"

namespace trident::equiv {
namespace {

/// Points drawn in each way.
constexpr std::uint64_t kEqualityPoints = 64;
/// Eighths of the points with both values known that must agree (some lie where rounding decides a step), and eighths
/// of all points that must be known.
constexpr std::size_t kAgreeEighths = 7, kKnownEighths = 2;
/// Values vary when at most this many eighths of them are equal.
constexpr std::size_t kSameEighthsMax = 6;
Values values_of(const Evaluator<Tracked<long double>>& evaluator, const expr::Expr& expr, expr::NodeId id) {
  const auto& lanes = evaluator.lanes(id);
  if (!ir::is_float(expr.at(id).type)) return Values(lanes.ci.begin(), lanes.ci.end());
  Values values;
  for (const auto& c : lanes.c) {
    const bool known = error_of(c) <= kEqualityTolerance * std::fabs(approximate(c));
    values.push_back(known ? approximate(c) : std::numeric_limits<long double>::quiet_NaN());
  }
  return values;
}

bool near(long double a, long double b, long double tolerance) {
  return a == b || std::fabs(a - b) <= tolerance * std::max(std::fabs(a), std::fabs(b));
}

/// Counts the known values that equal the commonest one, as far as three places tell; and all known ones.
std::pair<std::size_t, std::size_t> commonest(const Values& values) {
  Values known;
  std::copy_if(values.begin(), values.end(), std::back_inserter(known), [](long double x) { return !std::isnan(x); });
  std::size_t most = 0;
  if (!known.empty())
    for (const long double value : {known.front(), known[known.size() / 2], known.back()})
      most = std::max(most, static_cast<std::size_t>(std::count(known.begin(), known.end(), value)));
  return {most, known.size()};
}

}  // namespace

std::vector<Values> known_values(const expr::Expr& expr, const std::vector<expr::NodeId>& nodes, std::uint64_t seed) {
  const std::vector<expr::Shape> shapes = expr::shapes_of(expr);
  std::vector<Values> values(nodes.size());
  for (const Way way : {Way::uniform, Way::spread}) {
    const Samples samples = draw_set(expr, way, kEqualityPoints, seed);
    Evaluator<Tracked<long double>> evaluator(expr, samples, kEqualityPoints);
    evaluator.run_elements(0, kEqualityPoints);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (shapes[nodes[i].index] == expr::Shape::total) continue;
      const Values more = values_of(evaluator, expr, nodes[i]);
      values[i].insert(values[i].end(), more.begin(), more.end());
    }
  }
  return values;
}

bool equal_over_the_reals(const Values& a, const Values& b, long double tolerance) {
  std::size_t known = 0, agree = 0;
  for (std::size_t i = 0; i < a.size() && (known - agree) * 8 <= a.size() * (8 - kAgreeEighths); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
    ++known;
    agree += near(a[i], b[i], tolerance) ? 1 : 0;
  }
  return known * 8 >= a.size() * kKnownEighths && agree * 8 >= known * kAgreeEighths;
}

bool varies(const Values& values) {
  const auto [most, known] = commonest(values);
  return known > 1 && most * 8 <= known * kSameEighthsMax;
}

bool looks_constant(const Values& values) {
  const auto [most, known] = commonest(values);
  return most + 1 >= known;
}

}  // namespace trident::equiv
