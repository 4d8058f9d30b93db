#include "jit/rulecheck/bits.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "jit/rulecheck/compare.h"
#include "jit/rulecheck/strict_value.h"

namespace trident::rulecheck {
namespace {

using egraph::Rule;
using expr::Type;
using expr::rewrite::Ieee;
using expr::rewrite::Real;
using Tags = expr::rewrite::RuleSet::Tags;

bool same(Ieee tag, double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return std::isnan(left) && std::isnan(right);
  return left == right && (tag != Ieee::exact || std::signbit(left) == std::signbit(right));
}

// Returns whether all terms are far from overflow and underflow, which gives exponentials their only zeros.
bool in_range(const egraph::Pattern& side, const std::vector<double>& terms, bool narrow) {
  const double greatest = narrow ? 0x1p60 : 0x1p500;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const egraph::PatternTerm& t = side.terms[i];
    const expr::Op op = static_cast<expr::Op>(t.op);
    const bool exponential = t.kind == egraph::PatternTerm::Kind::node &&
                             (op == expr::Op::Exp || op == expr::Op::Exp2 || op == expr::Op::Pow ||
                              op == expr::Op::Powi || op == expr::Op::Erfc);
    const double size = std::fabs(terms[i]);
    if (size == 0 ? exponential : size > greatest || size < 1 / greatest) return false;
  }
  return true;
}

class Promise {
 public:
  Promise(const Rule& rule, const Tags& tags, const Sorts& sorts) : rule_(rule), tags_(tags), sorts_(sorts) {}

  /// Returns whether the tag is kept at a point; the point's values are then `left` and `right`.
  bool kept(const Point& point, Type type) {
    const auto finite = [](double v) { return std::isfinite(v); };
    const bool numbers = std::all_of(point.values.begin(), point.values.end(), finite);
    if (tags_.ieee >= Ieee::nan && !numbers) return true;
    const std::vector<double> left_terms = strict_values(rule_.left, point.values, type, sorts_);
    const std::vector<double> right_terms = strict_values(rule_.right, point.values, type, sorts_);
    left = left_terms.back(), right = right_terms.back();
    const bool narrow = type == Type::f32 || !sorts_.types.empty();
    if (tags_.ieee == Ieee::round)
      return std::isnan(left) == std::isnan(right) || tags_.real == Real::partial ||
             !in_range(rule_.left, left_terms, narrow) || !in_range(rule_.right, right_terms, narrow);
    if (tags_.ieee == Ieee::nan && tags_.real == Real::partial && !(finite(left) && finite(right))) return true;
    if (!same(tags_.ieee, left, right)) return false;
    if (!calls_functions_) return true;
    left = strict_values(rule_.left, point.values, type, sorts_, true).back();
    right = strict_values(rule_.right, point.values, type, sorts_, true).back();
    by_functions_ = !same(tags_.ieee, left, right);
    return !by_functions_;
  }

  [[nodiscard]] std::string broken(Type type) const {
    const auto name = ir::name_of(type);
    if (by_functions_)
      return fmt::format(
          "ieee={} promises the same bits, but functions are not correctly rounded: in {}, a function of other "
          "operands, of another type or written differently may be one ulp off",
          name_of(tags_.ieee), name);
    if (tags_.ieee == Ieee::round)
      return fmt::format("ieee=round promises NaN on both sides or on neither, but in {} only one side is NaN", name);
    return fmt::format("ieee={} promises the same bits{}, but in {} they differ", name_of(tags_.ieee),
                       tags_.ieee == Ieee::nan ? " where all operands are finite" : "", name);
  }

  double left = 0, right = 0;

 private:
  const Rule& rule_;
  const Tags& tags_;
  const Sorts& sorts_;
  const bool calls_functions_ = std::any_of(rule_.left.terms.begin(), rule_.left.terms.end(), is_function) ||
                                std::any_of(rule_.right.terms.begin(), rule_.right.terms.end(), is_function);
  bool by_functions_ = false;
};

}  // namespace

RuleVerdict check_bits(const Rule& rule, const Tags& tags, const Sorts& sorts, const RuleCheckOptions& options) {
  RuleVerdict verdict;
  if (sorts.slopes || tags.ieee == Ieee::domain) return verdict;
  Promise promise(rule, tags, sorts);
  for (const Type type : {Type::f64, Type::f32}) {
    if (type == Type::f32 && !sorts.types.empty()) break;  // both types are there at once
    PointSampler sampler(rule, sorts, options.seed + 1);
    const auto fails = [&](const Point& point) {
      if (promise.kept(point, type)) return false;
      verdict.kind = RuleVerdict::Kind::wrong;
      verdict.fault = promise.broken(type);
      verdict.point = bindings(rule, sorts, point, type);
      verdict.values = point.values;
      verdict.left = text_of(promise.left, type), verdict.right = text_of(promise.right, type);
      return true;
    };
    for (const Point& point : sampler.corner_points(type, false, options.points))
      if (fails(point)) return verdict;
    for (const Point& point : sampler.ordered_points(type, false, options.points / 4))
      if (fails(point)) return verdict;
    for (std::uint64_t i = 0; i < options.points / 2 + 1; ++i) {
      const std::optional<Point> point = sampler.draw_special(type);
      if (!point) break;  // no such values in f32
      if (fails(*point)) return verdict;
    }
  }
  return verdict;
}

}  // namespace trident::rulecheck
