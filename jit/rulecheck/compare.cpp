#include "jit/rulecheck/compare.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include <fmt/format.h>

#include "jit/rulecheck/real_value.h"

namespace trident::rulecheck {
namespace {

using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using equiv::WideBig;
using expr::Type;

std::string truth_text(bool truth) {
  return truth ? "true" : "false";
}

std::string text_of_real(long double value) {
  return std::isfinite(value) && std::fabs(value) > static_cast<long double>(DBL_MAX)
             ? fmt::format("{:.6g}", value)
             : text_of(static_cast<double>(value));
}

// Returns the terms of a side that are constants which most likely stand for a real number that is no fraction.
bool is_rounded(const PatternTerm& t, const Sorts& sorts) {
  return t.kind == PatternTerm::Kind::number && !is_dyadic(t.number) && !sorts.meant.contains(t.number);
}

template <class N>
long double apart(const N& a, const N& b) {
  N difference;
  apply_to(expr::Op::Sub, 0, a, b, b, difference);
  return std::fabs(approximate(difference));
}

// How much a side changes when its rounded constants do, where it changes smoothly. A step that a constant shifts over
// an edge, or a side that is NaN there, is no rounding. Unknown where the bits do not suffice to tell.
struct Slack {
  long double size = 0;
  bool known = true;
};
template <class N>
Slack slack_of(RealEvaluator<N>& evaluator, const Sorts& sorts, const Pattern& side, const N& value) {
  Slack slack;
  for (std::size_t i = 0; i < side.terms.size(); ++i) {
    if (!is_rounded(side.terms[i], sorts)) continue;
    for (const double sign : {1.0, -1.0}) {
      const N moved = evaluator.evaluate(side, static_cast<int>(i), sign * kNudge).number;
      const N hardly = evaluator.evaluate(side, static_cast<int>(i), sign * kFineNudge).number;
      const long double whole = apart(moved, value), fine = apart(hardly, value);
      const long double grown = fine * static_cast<long double>(kNudge / kFineNudge);
      slack.known = slack.known && error_of(hardly) + error_of(value) <= whole * 0x1p-24L;
      if (std::isfinite(whole) && std::isfinite(fine) && grown <= 2 * whole) slack.size += std::min(whole, 2 * grown);
    }
  }
  return slack;
}

// Returns whether a number is beyond all long doubles.
template <class N>
bool overflows(const N& x) {
  N infinity, size;
  set_exact(infinity, HUGE_VAL);
  apply_to(expr::Op::Abs, 0, x, x, x, size);
  return std::isinf(approximate(x)) && less(size, infinity);
}

template <class N>
Sides compare_with(const Rule& rule, const Sorts& sorts, const Point& point, bool last) {
  // Tolerance of difference quotients; elsewhere the error bound suffices.
  const long double share = sorts.slopes ? 1e-17L : 1e-30L, least = sorts.slopes || last ? 1e-40L : 0;
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
  sides.left = text_of_real(left), sides.right = text_of_real(right);
  if (!l.sure || !r.sure) return sides;
  const bool left_far = overflows(l.number), right_far = overflows(r.number);
  const bool left_is = left_far || std::isfinite(left), right_is = right_far || std::isfinite(right);
  if (!left_is || !right_is) {
    sides.outcome = left_is ? Outcome::only_left : right_is ? Outcome::only_right : Outcome::nowhere;
    return sides;
  }
  if (left_far || right_far) {
    if (left_far && right_far) return sides.outcome = Outcome::nowhere, sides;
    const N &far = left_far ? l.number : r.number, &near = left_far ? r.number : l.number;
    const bool known = equiv::sure_of_class(far) && std::fabs(approximate(near)) + error_of(near) < 1e4900L;
    if (known && !sorts.slopes) sides.outcome = Outcome::differ;
    return sides;
  }
  const long double off = apart(l.number, r.number), unknown = error_of(l.number) + error_of(r.number);
  const long double size = std::max(std::fabs(left), std::fabs(right));
  long double allowed = share * size + (sorts.slopes ? least : 0);
  if (off > allowed) {
    const Slack of_left = slack_of(evaluator, sorts, rule.left, l.number),
                of_right = slack_of(evaluator, sorts, rule.right, r.number);
    if (!last && !sorts.slopes && !(of_left.known && of_right.known)) return sides;
    allowed += of_left.size + of_right.size;
    const auto rounds = [&](const Pattern& side) {
      return std::any_of(side.terms.begin(), side.terms.end(),
                         [&](const PatternTerm& t) { return is_rounded(t, sorts); });
    };
    if (rounds(rule.left) || rounds(rule.right)) allowed += static_cast<long double>(kNudge) * size;
  }
  if (off - unknown > allowed) sides.outcome = Outcome::differ;
  if (off + unknown <= std::max(allowed, least)) sides.outcome = Outcome::equal;
  return sides;
}

}  // namespace

std::string text_of(double value, Type type) {
  if (std::isnan(value)) return "NaN";  // of either sign
  return type == Type::f32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
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

Sides compare_at(const Rule& rule, const Sorts& sorts, const Point& point) {
  Sides sides;
  if (!sorts.slopes) sides = compare_with<WideBig<200>>(rule, sorts, point, false);
  if (sides.outcome == Outcome::undecided) sides = compare_with<WideBig<800>>(rule, sorts, point, false);
  if (sides.outcome == Outcome::undecided) sides = compare_with<WideBig<3200>>(rule, sorts, point, true);
  return sides;
}

}  // namespace trident::rulecheck
