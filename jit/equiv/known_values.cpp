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
/// Points after which two values are mostly known to differ.
constexpr std::uint64_t kFewPoints = 32;
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

/// Points at which two values are compared.
class Agreement {
 public:
  Agreement(std::size_t points, long double tolerance) : points_(points), tolerance_(tolerance) {}

  void take(long double a, long double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) return;
    ++known_;
    agree_ += near(a, b, tolerance_) ? 1 : 0;
  }
  /// Returns whether too many differ already, whatever the others do.
  [[nodiscard]] bool refuted() const { return (known_ - agree_) * 8 > points_ * (8 - kAgreeEighths); }
  [[nodiscard]] bool holds() const {
    return known_ * 8 >= points_ * kKnownEighths && agree_ * 8 >= known_ * kAgreeEighths;
  }

 private:
  std::size_t points_, known_ = 0, agree_ = 0;
  long double tolerance_;
};

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
  Agreement agreement(a.size(), tolerance);
  for (std::size_t i = 0; i < a.size() && !agreement.refuted(); ++i) agreement.take(a[i], b[i]);
  return agreement.holds();
}

bool are_equal_over_the_reals(const expr::Expr& expr, expr::NodeId a, expr::NodeId b, std::uint64_t seed,
                              long double tolerance) {
  const std::vector<expr::Shape> shapes = expr::shapes_of(expr);
  if (shapes[a.index] == expr::Shape::total || shapes[b.index] == expr::Shape::total) return false;
  Agreement agreement(2 * kEqualityPoints, tolerance);
  for (const Way way : {Way::uniform, Way::spread}) {
    const Samples samples = draw_set(expr, way, kEqualityPoints, seed);
    Evaluator<Tracked<long double>> evaluator(expr, samples, kFewPoints);
    for (std::uint64_t first = 0; first < kEqualityPoints && !agreement.refuted(); first += kFewPoints) {
      evaluator.run_elements(first, kFewPoints);
      const Values of_a = values_of(evaluator, expr, a), of_b = values_of(evaluator, expr, b);
      for (std::size_t i = 0; i < of_a.size(); ++i) agreement.take(of_a[i], of_b[i]);
    }
    if (agreement.refuted()) return false;
  }
  return agreement.holds();
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
