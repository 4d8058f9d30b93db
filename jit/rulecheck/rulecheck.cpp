#include "jit/rulecheck/rulecheck.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "jit/rulecheck/memory.h"
#include "jit/rulecheck/real_value.h"
#include "jit/rulecheck/strict_value.h"
#include "jit/rulecheck/written_out.h"

namespace trident::rulecheck {
namespace {

using egraph::Condition;
using egraph::ConditionKind;
using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using equiv::WideBig;
using expr::Type;
using expr::rewrite::Ieee;
using expr::rewrite::Real;
using Tags = expr::rewrite::RuleSet::Tags;
using Kind = RuleVerdict::Kind;

constexpr std::uint64_t kPointsPerSlope = 5;
/// A rule that is compared at fewer than one of so many points has not been checked.
constexpr std::uint64_t kComparedShare = 20;

std::string text_of(double value, Type type = Type::f64) {
  return type == Type::f32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
}
std::string truth_text(bool truth) {
  return truth ? "true" : "false";
}

std::vector<Binding> bindings(const Rule& rule, const Sorts& sorts, const Point& point, Type type) {
  std::vector<Binding> found;
  if (!point.functions.empty()) found.push_back({"x", text_of(point.x)});
  for (std::size_t v = 0; v < rule.variables.size(); ++v) {
    const bool function = !point.functions.empty() && !sorts.truth[v];
    found.push_back(
        {"?" + rule.variables[v], sorts.truth[v] ? truth_text(point.values[v] != 0)
                                  : function     ? point.functions[v].text()
                                             : text_of(point.values[v], sorts.types.empty() ? type : sorts.types[v])});
  }
  return found;
}

// --- over the reals --------------------------------------------------------------------------------------------------

enum class Outcome { equal, nowhere, undecided, differ, only_left, only_right };

struct Sides {
  Outcome outcome = Outcome::undecided;
  std::string left, right;
};

// Terms of a side that are constants which most likely stand for a real number nearby.
bool is_rounded(const PatternTerm& t) {
  return t.kind == PatternTerm::Kind::number && t.number * 1024 != std::round(t.number * 1024);
}

template <class N>
long double apart(const N& a, const N& b) {
  N difference;
  apply_to(expr::Op::Sub, 0, a, b, b, difference);
  return std::fabs(approximate(difference));
}

// How much a side changes when its rounded constants do.
template <class N>
long double slack_of(RealEvaluator<N>& evaluator, const Pattern& side, const N& value) {
  long double slack = 0;
  for (std::size_t i = 0; i < side.terms.size(); ++i)
    if (is_rounded(side.terms[i])) slack += apart(evaluator.evaluate(side, static_cast<int>(i)).number, value);
  return slack;
}

// A number beyond all that a long double holds.
template <class N>
bool overflows(const N& x) {
  N infinity, size;
  set_exact(infinity, HUGE_VAL);
  apply_to(expr::Op::Abs, 0, x, x, x, size);
  return std::isinf(approximate(x)) && less(size, infinity);
}

template <class N>
Sides compare_with(const Rule& rule, const Sorts& sorts, const Point& point) {
  constexpr long double kShare = 1e-17L, kLeast = 1e-40L;
  RealEvaluator<N> evaluator(point, sorts);
  const auto l = evaluator.evaluate(rule.left), r = evaluator.evaluate(rule.right);
  Sides sides;
  if (sorts.truth_sides) {
    sides = {Outcome::differ, truth_text(l.truth), truth_text(r.truth)};
    if (!l.sure || !r.sure) sides.outcome = Outcome::undecided;
    if (l.truth == r.truth) sides.outcome = Outcome::equal;
    return sides;
  }
  const long double left = approximate(l.number), right = approximate(r.number);
  sides.left = text_of(static_cast<double>(left)), sides.right = text_of(static_cast<double>(right));
  if (!l.sure || !r.sure) return sides;
  if (overflows(l.number) || overflows(r.number)) return sides.outcome = Outcome::nowhere, sides;
  if (!std::isfinite(left) || !std::isfinite(right)) {
    sides.outcome = std::isfinite(left)    ? Outcome::only_left
                    : std::isfinite(right) ? Outcome::only_right
                                           : Outcome::nowhere;
    return sides;
  }
  const long double off = apart(l.number, r.number), unknown = error_of(l.number) + error_of(r.number);
  long double allowed = kShare * std::max(std::fabs(left), std::fabs(right)) + kLeast;
  if (off > allowed) allowed += slack_of(evaluator, rule.left, l.number) + slack_of(evaluator, rule.right, r.number);
  if (off - unknown > allowed) sides.outcome = Outcome::differ;
  if (off + unknown <= allowed) sides.outcome = Outcome::equal;
  return sides;
}

// With as many bits as it takes.
Sides compare_at(const Rule& rule, const Sorts& sorts, const Point& point) {
  Sides sides;
  if (!sorts.slopes) sides = compare_with<WideBig<200>>(rule, sorts, point);
  if (sides.outcome == Outcome::undecided) sides = compare_with<WideBig<800>>(rule, sorts, point);
  if (sides.outcome == Outcome::undecided) sides = compare_with<WideBig<3200>>(rule, sorts, point);
  return sides;
}

std::string fault_of(Outcome outcome, bool slopes) {
  if (outcome == Outcome::only_left) return "the right side is no number where the left side is";
  if (outcome == Outcome::only_right) return "the left side is no number where the right side is";
  return slopes ? "the sides differ; derivatives are difference quotients" : "the sides differ over the reals";
}

RuleVerdict check_reals(const Rule& rule, const Tags& tags, const Sorts& sorts, const RuleCheckOptions& options) {
  RuleVerdict verdict;
  PointSampler sampler(rule, sorts, options.seed);
  const std::uint64_t points =
      sorts.slopes ? std::max<std::uint64_t>(options.points / kPointsPerSlope, 1) : options.points;
  for (std::uint64_t i = 0; i < points; ++i) {
    const std::optional<Point> point = sampler.draw();
    if (!point)
      return verdict.kind = Kind::unchecked, verdict.fault = "no values that meet its conditions were found", verdict;
    const Sides sides = compare_at(rule, sorts, *point);
    // A derivative is asked for where there is one.
    const bool one_sided =
        sides.outcome == Outcome::only_left || (sides.outcome == Outcome::only_right && !sorts.slopes);
    if (sides.outcome == Outcome::equal) ++verdict.compared;
    const bool allowed = one_sided ? tags.real == Real::partial : sides.outcome != Outcome::differ;
    if (allowed) continue;
    verdict.kind = Kind::wrong;
    verdict.fault = fault_of(sides.outcome, sorts.slopes.has_value());
    verdict.point = bindings(rule, sorts, *point, Type::f64);
    verdict.left = sides.left, verdict.right = sides.right;
    return verdict;
  }
  if (verdict.compared * kComparedShare >= points) return verdict;
  verdict.kind = Kind::unchecked;
  verdict.fault = fmt::format("both sides are numbers at {} of {} points only", verdict.compared, points);
  return verdict;
}

// --- in strict arithmetic --------------------------------------------------------------------------------------------

bool keeps(Ieee tag, double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return std::isnan(left) && std::isnan(right);
  return left == right && (tag == Ieee::zero || std::signbit(left) == std::signbit(right));
}

RuleVerdict check_bits(const Rule& rule, const Tags& tags, const Sorts& sorts, const RuleCheckOptions& options) {
  RuleVerdict verdict;
  if (sorts.slopes || (tags.ieee != Ieee::exact && tags.ieee != Ieee::zero)) return verdict;
  for (const Type type : {Type::f64, Type::f32}) {
    if (type == Type::f32 && !sorts.types.empty()) break;  // both are there at once
    PointSampler sampler(rule, sorts, options.seed + 1);
    for (std::uint64_t i = 0; i < options.points / 2 + 1; ++i) {
      const std::optional<Point> point = sampler.draw_special(type);
      if (!point) break;  // no such values in f32
      const double left = strict_value(rule.left, point->values, type, sorts);
      const double right = strict_value(rule.right, point->values, type, sorts);
      if (keeps(tags.ieee, left, right)) continue;
      verdict.kind = Kind::wrong;
      verdict.fault = fmt::format("ieee={} promises the same bits, but in {} they are others", name_of(tags.ieee),
                                  ir::name_of(type));
      verdict.point = bindings(rule, sorts, *point, type);
      verdict.left = text_of(left, type), verdict.right = text_of(right, type);
      return verdict;
    }
  }
  return verdict;
}

RuleVerdict check_plain(const Rule& rule, const Tags& tags, const Sorts& sorts, const RuleCheckOptions& options) {
  RuleVerdict verdict = check_reals(rule, tags, sorts, options);
  if (verdict.kind != Kind::right) return verdict;
  RuleVerdict bits = check_bits(rule, tags, sorts, options);
  bits.compared = verdict.compared;
  return bits;
}

// Of a rule with reductions: in calls of 0, 1, 2 and 3 elements. Of none there need be no values to compare.
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
  verdict.compared = compared;
  return verdict;
}

RuleVerdict check_without_hint(const Rule& rule, const Tags& tags, const Sorts& sorts,
                               const RuleCheckOptions& options) {
  return has_reductions(rule) ? check_reductions(rule, tags, options) : check_plain(rule, tags, sorts, options);
}

// A rule without reductions that says the same of a call of some elements, or the rule itself.
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

// Whether a changed rule is true; most that are not show it at once.
bool holds(const Rule& rule, const Tags& tags, const Sorts& sorts, const RuleCheckOptions& options) {
  RuleCheckOptions few = options;
  few.points = std::min<std::uint64_t>(options.points, 500);
  return check_without_hint(rule, tags, sorts, few).kind == Kind::right &&
         check_without_hint(rule, tags, sorts, options).kind == Kind::right;
}

// Whether the sides are not zero at all points: every derivative of constants is.
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

// Sets of conditions to try, those that leave the most values first.
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

std::string hint_of_conditions(const Rule& rule, const Tags& tags, const Sorts& sorts,
                               const RuleCheckOptions& options) {
  for (const std::vector<Condition>& added : conditions_to_try(rule, sorts)) {
    Rule guarded = rule;
    guarded.conditions.insert(guarded.conditions.end(), added.begin(), added.end());
    if (!holds(guarded, tags, sorts, options) || !says_something(guarded, options)) continue;
    std::string text;
    for (const Condition& c : added) text += (text.empty() ? "" : ", ") + print(c, rule.variables);
    return fmt::format("it holds with {}{}", text, tags.real == Real::ok ? ", tagged real=guard" : "");
  }
  return "";
}

// Of a rule that is true over the reals: `tags` promise too much.
std::string hint_of_tags(const Rule& rule_of_any_call, const Tags& tags, const Sorts& sorts_of_rule,
                         const RuleCheckOptions& options) {
  Tags weaker = tags;
  weaker.ieee = Ieee::zero;
  if (tags.ieee == Ieee::exact && holds(rule_of_any_call, weaker, sorts_of_rule, options))
    return "it holds tagged ieee=zero";
  const Result<Plain> plain = plain_of(rule_of_any_call);
  if (!plain.ok()) return "";
  const auto& [rule, sorts] = *plain;
  PointSampler sampler(rule, sorts, options.seed + 1);
  bool same_on_numbers = true;
  for (std::uint64_t i = 0; i < options.points; ++i) {
    const std::optional<Point> point = sampler.draw_special(Type::f64);
    if (!point || !std::all_of(point->values.begin(), point->values.end(), [](double v) { return std::isfinite(v); }))
      continue;
    const double left = strict_value(rule.left, point->values, Type::f64, sorts);
    const double right = strict_value(rule.right, point->values, Type::f64, sorts);
    same_on_numbers = same_on_numbers && keeps(Ieee::zero, left, right);
  }
  return same_on_numbers ? "it holds tagged ieee=nan" : "it holds tagged ieee=round";
}

}  // namespace

RuleVerdict check_rule(const Rule& rule, const Tags& tags, const RuleCheckOptions& options) {
  const Result<Sorts> sorts = sorts_of(rule);
  if (!sorts.ok()) return {.kind = Kind::unchecked, .fault = sorts.error().message};
  if (rule.mixed) return check_memory_rule(rule, *sorts, options);
  RuleVerdict verdict = check_without_hint(rule, tags, *sorts, options);
  if (verdict.kind != Kind::wrong || !options.hints) return verdict;
  Tags rounds = tags;
  rounds.ieee = Ieee::round;
  if (check_without_hint(rule, rounds, *sorts, options).kind == Kind::right) {
    verdict.hint = hint_of_tags(rule, tags, *sorts, options);
    return verdict;
  }
  verdict.hint = hint_of_conditions(rule, tags, *sorts, options);
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
