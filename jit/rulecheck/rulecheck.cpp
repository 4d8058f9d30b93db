#include "jit/rulecheck/rulecheck.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "jit/rulecheck/bits.h"
#include "jit/rulecheck/compare.h"
#include "jit/rulecheck/edges.h"
#include "jit/rulecheck/memory.h"
#include "jit/rulecheck/strict_value.h"
#include "jit/rulecheck/ties.h"
#include "jit/rulecheck/written_out.h"

namespace trident::rulecheck {
namespace {

using egraph::Condition;
using egraph::ConditionKind;
using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using expr::Type;
using expr::rewrite::Ieee;
using expr::rewrite::Real;
using Tags = expr::rewrite::RuleSet::Tags;
using Kind = RuleVerdict::Kind;

/// Draws per compared point, at most: a rule that needs more is not checked.
constexpr std::uint64_t kDrawsPerPoint = 20;

std::string fault_of(Outcome outcome, bool slopes) {
  if (outcome == Outcome::only_left) return "the right side is undefined where the left side is a number";
  if (outcome == Outcome::only_right) return "the left side is undefined where the right side is a number";
  return slopes ? "the sides differ; derivatives are difference quotients" : "the sides differ over the reals";
}

RuleVerdict check_reals(const Rule& rule, const Tags& tags, const Sorts& sorts, const RuleCheckOptions& options) {
  RuleVerdict verdict;
  PointSampler sampler(rule, sorts, options.seed);
  const auto fails = [&](const Point& point) {
    const Sides sides = compare_at(rule, sorts, point);
    // Derivatives are compared only where both sides have one.
    const bool one_sided =
        sides.outcome == Outcome::only_left || (sides.outcome == Outcome::only_right && !sorts.slopes);
    if (sides.outcome == Outcome::equal) ++verdict.compared;
    if (one_sided ? tags.real == Real::partial : sides.outcome != Outcome::differ) return false;
    verdict.kind = Kind::wrong;
    verdict.fault = fault_of(sides.outcome, sorts.slopes.has_value());
    verdict.point = bindings(rule, sorts, point, Type::f64);
    verdict.values = point.values;
    verdict.left = sides.left, verdict.right = sides.right;
    return true;
  };
  const std::uint64_t points = sorts.slopes ? options.slope_points : options.points;
  for (std::uint64_t draws = 0; verdict.compared < points; ++draws) {
    if (draws == kDrawsPerPoint * points) {
      verdict.kind = Kind::unchecked;
      verdict.fault = fmt::format("both sides are numbers at {} of {} points only", verdict.compared, draws);
      return verdict;
    }
    const std::optional<Point> point = sampler.draw();
    if (!point)
      return verdict.kind = Kind::unchecked, verdict.fault = "no values that meet its conditions were found", verdict;
    if (fails(*point)) return verdict;
  }
  const std::uint64_t compared = verdict.compared;
  for (const Point& point : sampler.corner_points(Type::f64, true, points / 4))
    if (fails(point)) return verdict;
  for (const Point& point : sampler.ordered_points(Type::f64, true, points / 4))
    if (fails(point)) return verdict;
  constexpr std::uint64_t kSmallPoints = 64;
  for (const Point& point : sampler.small_points(std::min(kSmallPoints, points / 8)))
    if (fails(point)) return verdict;
  verdict.compared = compared;
  return verdict;
}

RuleVerdict check_plain(const Rule& rule, const Tags& tags, const Sorts& sorts, const RuleCheckOptions& options) {
  RuleVerdict verdict = check_reals(rule, tags, sorts, options);
  if (verdict.kind != Kind::right) return verdict;
  if (std::optional<RuleVerdict> fault = fault_at_edges(rule, tags, sorts, options)) return *std::move(fault);
  if (std::optional<RuleVerdict> fault = fault_at_ties(rule, tags, sorts, options)) return *std::move(fault);
  RuleVerdict bits = check_bits(rule, tags, sorts, options);
  bits.compared = verdict.compared;
  return bits;
}

// Checks calls of many elements, as many as the rule's own constants suggest among them.
RuleVerdict check_long_calls(const Rule& rule, const Tags& tags, const RuleCheckOptions& options) {
  const Result<Rule> plain = written_out_repeated(rule);
  if (!plain.ok()) return {.kind = Kind::unchecked, .fault = plain.error().message};
  const Result<Sorts> sorts = sorts_of(*plain);
  if (!sorts.ok()) return {.kind = Kind::unchecked, .fault = sorts.error().message};
  RuleVerdict verdict = check_reals(*plain, tags, *sorts, options);
  if (verdict.kind == Kind::right)
    if (std::optional<RuleVerdict> fault = fault_at_edges(*plain, tags, *sorts, options)) verdict = *std::move(fault);
  if (verdict.kind == Kind::right)
    if (std::optional<RuleVerdict> fault = fault_at_ties(*plain, tags, *sorts, options)) verdict = *std::move(fault);
  return verdict;
}

// Checks a rule with reductions in calls of 0, 1, 2, 3 and more elements. A call of none needs no comparable values.
RuleVerdict check_reductions(const Rule& rule, const Tags& tags, const RuleCheckOptions& options) {
  RuleVerdict verdict;
  std::uint64_t compared = 0;
  for (std::size_t n = 0; n <= kElementsMax; ++n) {
    const Result<Rule> plain = written_out(rule, n);
    if (!plain.ok()) return {.kind = Kind::unchecked, .fault = plain.error().message};
    const Result<Sorts> sorts = sorts_of(*plain);
    if (!sorts.ok()) return {.kind = Kind::unchecked, .fault = sorts.error().message};
    verdict = check_plain(*plain, tags, *sorts, options);
    if (n == 0 && verdict.kind == Kind::unchecked) verdict = check_bits(*plain, tags, *sorts, options);
    if (verdict.kind == Kind::wrong) verdict.fault += fmt::format(" in a call of {} element{}", n, n == 1 ? "" : "s");
    if (verdict.kind != Kind::right) return verdict;
    compared += verdict.compared;
  }
  verdict = check_long_calls(rule, tags, options);
  verdict.compared += compared;
  return verdict;
}

// Difference quotients show no bits, so only derivatives of x itself and of table elements may promise them.
bool promises_bits_of_slopes(const Rule& rule, const Tags& tags, const Sorts& sorts) {
  if (!sorts.slopes || rule.mixed || (tags.ieee != Ieee::exact && tags.ieee != Ieee::zero)) return false;
  const auto is_x = [&](const PatternTerm& t) {
    return t.kind == PatternTerm::Kind::variable && t.variable == *sorts.slopes;
  };
  const bool of_x_by_x = rule.left.terms.size() == 3 && is_x(rule.left.terms[0]) && is_x(rule.left.terms[1]);
  const PatternTerm& right = rule.right.root();
  return !of_x_by_x || right.kind != PatternTerm::Kind::number || right.number != 1;
}

RuleVerdict check_without_hint(const Rule& rule, const Tags& tags, const Sorts& sorts,
                               const RuleCheckOptions& options) {
  return has_reductions(rule) ? check_reductions(rule, tags, options) : check_plain(rule, tags, sorts, options);
}

// A rule without reductions that is equivalent to the rule in a call of some elements, or the rule itself.
struct Plain {
  Rule rule;
  Sorts sorts;
};
Result<Plain> plain_of(const Rule& rule) {
  Plain plain{rule, {}};
  if (has_reductions(rule)) {
    TRY(plain.rule, written_out(rule, 2));
  }
  TRY(plain.sorts, sorts_of(plain.rule));
  return plain;
}

// --- hints -----------------------------------------------------------------------------------------------------------

// Returns whether a changed rule is true; most false ones show it at once.
bool holds(const Rule& rule, const Tags& tags, const Sorts& sorts, const RuleCheckOptions& options) {
  RuleCheckOptions few = options;
  few.points = std::min<std::uint64_t>(options.points, 500);
  return check_without_hint(rule, tags, sorts, few).kind == Kind::right &&
         check_without_hint(rule, tags, sorts, options).kind == Kind::right;
}

// Returns whether the sides are nonzero at some point: every derivative of constants is zero.
bool says_something(const Rule& rule_of_any_call, const RuleCheckOptions& options) {
  constexpr int kPoints = 50;
  const Result<Plain> plain = plain_of(rule_of_any_call);
  if (!plain.ok()) return false;
  const auto& [rule, sorts] = *plain;
  PointSampler sampler(rule, sorts, options.seed);
  for (int i = 0; i < kPoints; ++i) {
    const std::optional<Point> point = sampler.draw();
    if (!point) return false;
    const Sides sides = compare_at(rule, sorts, *point);
    if (sides.outcome == Outcome::equal && sides.left != "0" && sides.left != "-0") return true;
  }
  return false;
}

// Returns whether a rule, or one written out from it, applies at a point that was found. A function's value does not
// tell whether it is constant.
bool in_force_at(const Rule& rule, const std::vector<double>& values) {
  const auto at = [&](const Rule& plain) {
    return plain.variables.size() == values.size() &&
           std::all_of(plain.conditions.begin(), plain.conditions.end(), [&](const Condition& c) {
             return c.kind != ConditionKind::constant && holds_at(c, values, true);
           });
  };
  if (!has_reductions(rule)) return at(rule);
  for (std::size_t n = 0; n <= kElementsMax; ++n)
    if (const Result<Rule> plain = written_out(rule, n); plain.ok() && at(*plain)) return true;
  const Result<Rule> plain = written_out_repeated(rule);
  return plain.ok() && at(*plain);
}

// Returns whether sides that differ in bits at a point differ there over the reals too, with the rule's constants as
// they are in f64: then no rounding is an excuse.
bool differs_at(const Rule& rule, const Sorts& sorts, const std::vector<double>& values) {
  const bool numbers = std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  if (values.size() != rule.variables.size() || sorts.slopes || has_reductions(rule) || !numbers) return false;
  Sorts as_written = sorts;
  as_written.meant.clear();
  Point point;
  point.values = values;
  return compare_at(rule, as_written, point).outcome == Outcome::differ;
}

// Returns sets of conditions to try, those that leave the most values first.
std::vector<std::vector<Condition>> conditions_to_try(const Rule& rule, const Sorts& sorts) {
  using enum ConditionKind;
  std::vector<std::uint8_t> numbers;
  for (std::uint8_t v = 0; v < rule.variables.size(); ++v)
    if (!sorts.truth[v]) numbers.push_back(v);
  std::vector<std::vector<Condition>> sets;
  for (const ConditionKind kind : {nonzero, nonnegative, nonpositive, positive, negative, at_least_one, within_one,
                                   within_half_pi, integral, constant}) {
    if (kind == (sorts.slopes ? integral : constant)) continue;
    std::vector<Condition> all;
    for (const std::uint8_t v : numbers) {
      if (kind == constant && v == sorts.slopes) continue;
      sets.push_back({{kind, {v, 0}}});
      all.push_back(sets.back().front());
    }
    if (all.size() > 1) sets.push_back(all);
  }
  for (const std::uint8_t v : numbers)
    for (const std::uint8_t w : numbers)
      if (v != w && !sorts.slopes) sets.push_back({{le, {v, w}}});
  return sets;
}

std::string hint_of_conditions(const Rule& rule, const Tags& tags, const Sorts& sorts, const RuleCheckOptions& options,
                               const std::vector<double>& wrong_at) {
  for (const std::vector<Condition>& added : conditions_to_try(rule, sorts)) {
    Rule guarded = rule;
    guarded.conditions.insert(guarded.conditions.end(), added.begin(), added.end());
    if (in_force_at(guarded, wrong_at)) continue;
    if (!holds(guarded, tags, sorts, options) || !says_something(guarded, options)) continue;
    std::string text;
    for (const Condition& c : added) text += (text.empty() ? "" : ", ") + print(c, rule.variables);
    return fmt::format("it holds with {}{}", text, tags.real == Real::ok ? ", tagged real=guard" : "");
  }
  return "";
}

// Hints for a rule that is true over the reals, but whose `tags` promise too much.
std::string hint_of_tags(const Rule& rule, const Tags& tags, const Sorts& sorts, const RuleCheckOptions& options,
                         const std::vector<double>& wrong_at) {
  Tags weaker = tags;
  for (const Ieee tag : {Ieee::zero, Ieee::nan, Ieee::round, Ieee::domain}) {
    weaker.ieee = tag;
    if (tag >= Ieee::round && differs_at(rule, sorts, wrong_at)) break;
    if (tag > tags.ieee && holds(rule, weaker, sorts, options))
      return fmt::format("it holds tagged ieee={}", name_of(tag));
  }
  return "";
}

}  // namespace

RuleVerdict check_rule(const Rule& rule, const Tags& tags, const RuleCheckOptions& options) {
  const Result<Sorts> sorts = sorts_of(rule);
  if (!sorts.ok()) return {.kind = Kind::unchecked, .fault = sorts.error().message};
  if (promises_bits_of_slopes(rule, tags, *sorts))
    return {.kind = Kind::wrong,
            .fault = fmt::format("ieee={} promises bits, which cannot be checked for derivatives", name_of(tags.ieee)),
            .hint = "tag it ieee=round"};
  if (rule.mixed) return check_memory_rule(rule, *sorts, options);
  RuleVerdict verdict = check_without_hint(rule, tags, *sorts, options);
  if (verdict.kind != Kind::wrong || !options.hints) return verdict;
  verdict.hint = hint_of_tags(rule, tags, *sorts, options, verdict.values);
  if (verdict.hint.empty() && !verdict.isolated)
    verdict.hint = hint_of_conditions(rule, tags, *sorts, options, verdict.values);
  Tags partial = tags;
  partial.real = Real::partial;
  if (verdict.hint.empty() && tags.real != Real::partial && holds(rule, partial, *sorts, options))
    verdict.hint = "it holds tagged real=partial";
  return verdict;
}

std::optional<Example> example_of(const Rule& rule_of_any_call) {
  constexpr double kRound[] = {2, 3, 0.5, 5, 0.25, 7, -2, 1.5, -0.5, 4, 1, 0.75};
  constexpr int kTries = 200;
  if (rule_of_any_call.mixed) {
    const Result<Sorts> mixed = sorts_of(rule_of_any_call);
    return mixed.ok() ? example_of_memory_rule(rule_of_any_call, *mixed) : std::nullopt;
  }
  const Result<Plain> plain = plain_of(rule_of_any_call);
  if (!plain.ok()) return std::nullopt;
  const Rule& rule = plain->rule;
  const Sorts* sorts = &plain->sorts;
  PointSampler sampler(rule, *sorts, 1);
  for (int i = 0; i < kTries; ++i) {
    std::optional<Point> point = sampler.draw();
    if (!point) return std::nullopt;
    if (!sorts->slopes && i < static_cast<int>(std::size(kRound))) {
      for (std::size_t v = 0; v < point->values.size(); ++v)
        if (!sorts->truth[v]) point->values[v] = kRound[(v + static_cast<std::size_t>(i)) % std::size(kRound)];
      if (!std::all_of(rule.conditions.begin(), rule.conditions.end(),
                       [&](const Condition& c) { return holds_at(c, point->values, false); }))
        continue;
    }
    const Sides real = compare_at(rule, *sorts, *point);
    if (real.outcome != Outcome::equal) continue;
    Example example{bindings(rule, *sorts, *point, Type::f64), real.left, real.right};
    if (!sorts->slopes && !sorts->truth_sides) {
      example.left = text_of(strict_value(rule.left, point->values, Type::f64, *sorts));
      example.right = text_of(strict_value(rule.right, point->values, Type::f64, *sorts));
    }
    return example;
  }
  return std::nullopt;
}

}  // namespace trident::rulecheck
