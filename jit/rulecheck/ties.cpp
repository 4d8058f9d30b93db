#include "jit/rulecheck/ties.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "jit/rulecheck/compare.h"
#include "jit/rulecheck/meant.h"
#include "jit/rulecheck/points.h"
#include "jit/rulecheck/real_value.h"
#include "jit/rulecheck/roots.h"

namespace trident::rulecheck {
namespace {

using egraph::Condition;
using egraph::ConditionKind;
using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using expr::rewrite::Real;

bool has_rounded_constants(const Rule& rule, const Sorts& sorts) {
  const auto rounded = [&](const PatternTerm& t) {
    return t.kind == PatternTerm::Kind::number && !is_dyadic(t.number) && !sorts.meant.contains(t.number);
  };
  return std::any_of(rule.left.terms.begin(), rule.left.terms.end(), rounded) ||
         std::any_of(rule.right.terms.begin(), rule.right.terms.end(), rounded);
}

/// Returns whether a number is known to sixty bits, and is not a pole's rest at a point known to a bound only.
bool is_known(const Near& x) {
  const long double size = std::fabs(approximate(x));
  return size < 0x1p100L && error_of(x) <= 0x1p-60L * std::max(size, 0x1p-100L);
}

class TieSearch {
 public:
  TieSearch(const Rule& rule, const expr::rewrite::RuleSet::Tags& tags, const Sorts& sorts, std::uint64_t seed)
      : rule_(rule), tags_(tags), sorts_(sorts), sampler_(rule, sorts, seed), random_(seed) {}

  std::optional<RuleVerdict> run(std::size_t tries) {
    const std::vector<Edge> edges = edges_of(rule_, sorts_);
    if (edges.empty()) return std::nullopt;
    collect_alone(edges);
    if (auto fault = at_roots_of_one(tries)) return fault;
    if (auto fault = at_roots_of_many(edges, tries)) return fault;
    return beside_roots_of_one();
  }

 private:
  [[nodiscard]] bool can_move(std::size_t v) const {
    // An integer is a floating-point number.
    return !sorts_.truth[v] && std::none_of(rule_.conditions.begin(), rule_.conditions.end(), [&](const Condition& c) {
      return c.variable[0] == v && (c.kind == ConditionKind::integral || c.kind == ConditionKind::integer_two_up ||
                                    c.kind == ConditionKind::stride);
    });
  }

  static bool is_alone(const Edge& edge) { return std::count(edge.depends.begin(), edge.depends.end(), true) == 1; }

  /// Collects the roots of edges that depend on one variable alone, by that variable.
  void collect_alone(const std::vector<Edge>& edges) {
    constexpr std::size_t kRootsMax = 48, kRootsOfEdge = 12;
    alone_.resize(rule_.variables.size());
    for (const Edge& edge : edges) {
      if (!is_alone(edge)) continue;
      const auto v =
          static_cast<std::size_t>(std::find(edge.depends.begin(), edge.depends.end(), true) - edge.depends.begin());
      if (!can_move(v) || alone_[v].size() >= kRootsMax) continue;
      Point point;
      point.values.assign(rule_.variables.size(), 1);
      for (Near& root : roots_of(edge, sorts_, point, v, kRootsOfEdge, true)) alone_[v].push_back(std::move(root));
    }
  }

  /// Tries each root alone, the other variables as drawn; then all variables that have roots at one of theirs, or some.
  std::optional<RuleVerdict> at_roots_of_one(std::size_t tries) {
    constexpr int kPointsOfRoot = 2;
    std::vector<std::size_t> with;
    for (std::size_t v = 0; v < alone_.size(); ++v)
      if (!alone_[v].empty()) with.push_back(v);
    for (const std::size_t v : with) {
      for (const Near& root : alone_[v]) {
        for (int i = 0; i < kPointsOfRoot; ++i) {
          const std::optional<Point> point = tame_point();
          if (!point) return std::nullopt;
          if (auto fault = fault_near(*point, {{v, root}})) return fault;
        }
      }
    }
    // A dozen roots of each of two variables make as many pairs.
    constexpr std::size_t kWays = 3, kTriesLeast = 200;
    for (std::size_t i = 0; i < std::max(kWays * tries, kTriesLeast) && with.size() > 1; ++i) {
      std::optional<Point> point = tame_point();
      if (!point) return std::nullopt;
      std::vector<std::pair<std::size_t, Near>> roots;
      for (const std::size_t v : with) {
        const Near& root = alone_[v][random_() % alone_[v].size()];
        const auto way = i % kWays == 0 ? 0 : random_() % 4;
        if (way < 2) roots.emplace_back(v, root);
        // A condition between variables may hold on one side of their roots.
        if (way == 2) point->values[v] = static_cast<double>(approximate(root)) + (random_() % 2 == 0 ? 0.25 : -0.25);
      }
      if (roots.empty() || !holds(*point)) continue;
      if (auto fault = fault_near(*point, roots)) return fault;
    }
    return std::nullopt;
  }

  /// Tries points where all variables are a little beside their roots, or beside zero: several terms vanish there.
  std::optional<RuleVerdict> beside_roots_of_one() {
    constexpr double kScales[] = {1e-5, 1e-7, 1e-9, 1e-12};
    constexpr std::size_t kPoints = 40;
    const auto none = [](const std::vector<Near>& roots) { return roots.empty(); };
    if (std::all_of(alone_.begin(), alone_.end(), none)) return std::nullopt;
    for (std::size_t i = 0; i < kPoints; ++i) {
      std::optional<Point> point = sampler_.draw();
      if (!point) return std::nullopt;
      for (std::size_t v = 0; v < alone_.size(); ++v) {
        if (!can_move(v)) continue;
        const double beside = kScales[i % std::size(kScales)] * (static_cast<double>(random_() % 2001) / 1000 - 1);
        const double root =
            alone_[v].empty() ? 0 : static_cast<double>(approximate(alone_[v][random_() % alone_[v].size()]));
        point->values[v] = root + beside;
      }
      if (!holds(*point)) continue;
      const Sides sides = compare_at(rule_, sorts_, *point);
      if (sides.outcome != Outcome::differ) continue;
      RuleVerdict verdict{
          .kind = RuleVerdict::Kind::wrong, .fault = "the sides differ over the reals", .isolated = true};
      verdict.point = bindings(rule_, sorts_, *point, expr::Type::f64);
      verdict.left = sides.left, verdict.right = sides.right;
      return verdict;
    }
    return std::nullopt;
  }

  /// Returns a point whose values all count within the bits of a root, beside one another: cos(1e-100) is not
  /// 1.
  std::optional<Point> tame_point() {
    constexpr int kTries = 200;
    const auto tame = [](double x) { return x == 0 || (std::fabs(x) > 1e-9 && std::fabs(x) < 1e9); };
    for (int i = 0; i < kTries; ++i) {
      std::optional<Point> point = sampler_.draw();
      if (!point || std::all_of(point->values.begin(), point->values.end(), tame)) return point;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool holds(const Point& point) const {
    return std::all_of(rule_.conditions.begin(), rule_.conditions.end(),
                       [&](const Condition& c) { return holds_at(c, point.values, false); });
  }

  std::optional<RuleVerdict> at_roots_of_many(const std::vector<Edge>& edges, std::size_t tries) {
    constexpr std::size_t kRoots = 2;
    std::vector<std::pair<const Edge*, std::size_t>> ways;
    for (const Edge& edge : edges)
      for (std::size_t v = 0; v < edge.depends.size(); ++v)
        if (edge.depends[v] && !edge.kink && !is_alone(edge) && can_move(v)) ways.emplace_back(&edge, v);
    if (ways.empty()) return std::nullopt;
    for (std::size_t i = 0; i < std::max(tries, std::min(2 * ways.size(), 2 * tries)); ++i) {
      const std::optional<Point> point = tame_point();
      if (!point) return std::nullopt;
      const auto& [edge, v] = ways[i % ways.size()];
      for (const Near& root : roots_of(*edge, sorts_, *point, v, kRoots, false))
        if (auto fault = fault_near(*point, {{v, root}})) return fault;
    }
    return std::nullopt;
  }

  std::optional<RuleVerdict> fault_near(Point point, const std::vector<std::pair<std::size_t, Near>>& roots) {
    std::vector<Near> near(point.values.size());
    for (std::size_t v = 0; v < near.size(); ++v) set_exact(near[v], point.values[v]);
    // The conditions hold at the root if they do on both sides of it.
    Point below = point, above = point;
    for (const auto& [v, root] : roots) {
      near[v] = root;
      point.values[v] = static_cast<double>(approximate(root));
      below.values[v] = std::nextafter(point.values[v], -HUGE_VAL);
      above.values[v] = std::nextafter(point.values[v], HUGE_VAL);
    }
    if (!holds(below) || !holds(above)) return std::nullopt;
    RealEvaluator<Near> evaluator(point, sorts_, near);
    const auto l = evaluator.evaluate(rule_.left), r = evaluator.evaluate(rule_.right);
    if (!l.sure || !r.sure) return std::nullopt;
    RuleVerdict verdict{.kind = RuleVerdict::Kind::wrong, .fault = "the sides differ over the reals", .isolated = true};
    if (sorts_.truth_sides) {
      if (l.truth == r.truth) return std::nullopt;
      verdict.left = l.truth ? "true" : "false", verdict.right = r.truth ? "true" : "false";
    } else {
      const bool left_is = std::isfinite(approximate(l.number)), right_is = std::isfinite(approximate(r.number));
      if ((left_is && !is_known(l.number)) || (right_is && !is_known(r.number)) || (!left_is && !right_is))
        return std::nullopt;
      if (left_is != right_is && tags_.real == Real::partial) return std::nullopt;
      if (left_is && right_is && !apart(l.number, r.number)) return std::nullopt;
      if (!left_is) verdict.fault = "the left side is undefined where the right side is a number";
      if (!right_is) verdict.fault = "the right side is undefined where the left side is a number";
      verdict.left = text_of(static_cast<double>(approximate(l.number)));
      verdict.right = text_of(static_cast<double>(approximate(r.number)));
    }
    verdict.point = bindings(rule_, sorts_, point, expr::Type::f64);
    for (const auto& [v, root] : roots) verdict.point[v].value = fmt::format("near {:.17g}", point.values[v]);
    return verdict;
  }

  static bool apart(const Near& a, const Near& b) {
    Near difference;
    apply_to(expr::Op::Sub, 0, a, b, b, difference);
    const long double size = std::max(std::fabs(approximate(a)), std::fabs(approximate(b)));
    return std::fabs(approximate(difference)) > 0x1p-50L * size + 2 * (error_of(a) + error_of(b));
  }

  const Rule& rule_;
  const expr::rewrite::RuleSet::Tags& tags_;
  const Sorts& sorts_;
  PointSampler sampler_;
  std::mt19937_64 random_;
  std::vector<std::vector<Near>> alone_;
};

}  // namespace

std::optional<RuleVerdict> fault_at_ties(const Rule& rule, const expr::rewrite::RuleSet::Tags& tags, const Sorts& sorts,
                                         const RuleCheckOptions& options) {
  if (sorts.slopes || !sorts.types.empty() || rule.variables.empty() || has_rounded_constants(rule, sorts))
    return std::nullopt;
  constexpr std::uint64_t kPointsPerTry = 125, kTriesMax = 400;
  const std::uint64_t tries = std::clamp<std::uint64_t>(options.points / kPointsPerTry, 4, kTriesMax);
  return TieSearch(rule, tags, sorts, options.seed + 3).run(tries);
}

}  // namespace trident::rulecheck
