// Is a rewrite rule true? Its two sides are evaluated where its conditions hold: over the reals in MPFR and, where its
// tag promises bits, in strict arithmetic at special values. That is no proof, but a wrong rule seldom survives it. A
// refused rule comes with a point that shows the fault and with a change that would make it true.
//
// Requirements on a rule, by its tags (jit/expr/rules/README.md):
//
// real=ok, guard    where one side is a number so is the other, and they are equal (a derivative may be stated where
// none exists)
//   real=partial      they are equal where both are numbers
//   ieee=exact, zero  the same bits in f32 and f64, but for NaN's payload and, under zero, the sign of a zero; also at
//                     infinities, NaN, denormals, and where overflow is near
//   ieee=nan          as zero, where all operands are finite (and both sides of a partial rule are)
//   ieee=round        at finite operands, with all terms far from overflow and underflow, NaN is where it was; but for
//                     partial rules
// ieee=domain       nothing beyond the reals
//
// Points are drawn, most within 0.03 and 30 and some anywhere, until both sides are numbers at the requested number of
// points. (A rule with such sides at fewer than one in twenty is not checked.) Other points are chosen: corners.h has
// values at which rules tend to fail, the first of them in all combinations; targets.h finds where a comparison of one
// variable changes, and tries these for all variables at once and for some; orders.h puts the variables in order;
// edges.h solves, in exact arithmetic, for points where divisors, differences of compared terms and operands of steps
// are zero or integers; ties.h does so to a hundred digits where operations are not rational, and where a term reaches
// such a value without passing it. Periodic terms are followed to 120 on both sides of zero.
//
// Numbers are equal when rounding the rule's own constants (pi, 1/3) to f64 explains their difference. A step that such
// a constant shifts is no rounding. A cast to f32 rounds where the sides hold more than an f32. In a rule with (diff e
// ?x) variables are functions of x, and derivatives are difference quotients, equal within 10^-17 of themselves. No
// points are chosen there: x, constants and functions lie within 10^-6 and 10^6 or near the rule's own constants and
// beyond. Difference quotients show no bits, so such a rule must not be tagged exact or zero, unless it is (diff ?x ?x)
// => 1 or about table elements.
//
// Where bits are promised, functions are also evaluated as in kernels, an ulp off here and there: exp of f32 is not exp
// of f64 rounded, nor is the greater of two exponentials that of the greater operand.
//
// A rule with reductions is checked for calls of no, one, two and three elements, and over the reals for calls of any
// number whose elements but for the first are the same.
//
// Not checked, and so refused: casts, reductions of reductions or beside non-uniform values, integer arithmetic,
// derivatives nested more than twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jit/expr/rewrite/rules.h"

namespace trident::rulecheck {

struct RuleCheckOptions {
  std::uint64_t points = 10'000;  ///< drawn and compared over the reals; up to half as many are chosen besides
  /// Points for rules with derivatives, whose points are expensive: loading rules at every start asks for fewer than
  /// checking rules that somebody has just written.
  std::uint64_t slope_points = 2'000;
  std::uint64_t seed = 1;
  bool hints = true;  ///< look for changes that would make a wrong rule true
};

/// A variable (or x, in rules with derivatives) and its value.
struct Binding {
  std::string name, value;
};

struct RuleVerdict {
  enum class Kind : std::uint8_t { right, wrong, unchecked };
  Kind kind = Kind::right;
  std::string fault{};           ///< a sentence, unless right
  std::vector<Binding> point{};  ///< of a wrong rule
  std::string left{}, right{};   ///< the values of its sides there
  std::vector<double> values{};  ///< of the variables there; of a rule with reductions, as written out
  /// The point was solved for. Points beside it may be right, so samples of those do not support a hint.
  bool isolated = false;
  std::string hint{};          ///< a change that would make it true; empty when none was found
  std::uint64_t compared = 0;  ///< points drawn over the reals at which both sides are numbers; in calls of any length
};

/// Checks a rule. Deterministic in all arguments. A tenth of a second for most rules.
RuleVerdict check_rule(const egraph::Rule& rule, const expr::rewrite::RuleSet::Tags& tags,
                       const RuleCheckOptions& options = {});

/// A point where the rule applies, with the values of both sides: in f64 for most rules, the nearest to the true values
/// where there are derivatives.
struct Example {
  std::vector<Binding> point;
  std::string left, right;
};
/// Returns nothing for a rule that cannot be checked or whose left side is hardly ever a number.
std::optional<Example> example_of(const egraph::Rule& rule);

}  // namespace trident::rulecheck
