// Points at which the two sides of a rule are compared: where its conditions hold. In a rule with derivatives every
// variable stands for a function of x; elsewhere for a number.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/expr/expr.h"
#include "jit/rulecheck/sorts.h"
#include "jit/rulecheck/targets.h"

namespace trident::rulecheck {

/// A function of x: steps applied one after the other, such as x -> 3*x -> sin(3*x) -> sin(3*x) + 2.
struct Function {
  struct Step {
    expr::Op op = expr::Op::Add;
    double operand = 0;         ///< the second operand of ops of two
    std::int64_t exponent = 0;  ///< of Powi
  };
  std::vector<Step> steps;
  bool constant = false;

  [[nodiscard]] double at(double x) const;
  [[nodiscard]] std::string text() const;
};

struct Point {
  std::vector<double> values;       ///< by variable; truth values are 0 or 1; those of `functions` at x, rounded
  std::vector<Function> functions;  ///< by variable, in rules with derivatives
  double x = 0;
};

/// Returns whether a condition holds. `nan_too`: in the graph's sense, which knows ranges of values apart from NaN, so
/// that only finite() and notnan() say anything about a NaN.
bool holds_at(const egraph::Condition& condition, const std::vector<double>& values, bool nan_too);

class PointSampler {
 public:
  /// Both arguments must outlive the sampler.
  PointSampler(const egraph::Rule& rule, const Sorts& sorts, std::uint64_t seed);

  /// Draws a point where all conditions hold; nothing when none was found in many tries.
  std::optional<Point> draw();
  /// Draws a point with zeros of both signs, infinities, NaN and ends of the range of `type` among its values, all of
  /// which are values of `type`.
  std::optional<Point> draw_special(expr::Type type);
  /// Returns at most `most` points of targets_of() and corners_of() where all conditions hold: the first of these in
  /// all combinations, each with others drawn, and more that are drawn among them. `finite`: without infinities and
  /// NaN. None in rules with derivatives.
  std::vector<Point> corner_points(expr::Type type, bool finite, std::size_t most);

  /// Returns points near zero in all numbers at once, at several scales and those of the rule's constants, where all
  /// conditions hold; none in rules about types or with derivatives.
  std::vector<Point> small_points(std::size_t most);

  /// Returns the ordered_values() where all conditions hold, some moved there; at most `most`.
  std::vector<Point> ordered_points(expr::Type type, bool finite, std::size_t most);

 private:
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double number();
  /// Makes some values equal to others, opposite, or next to them.
  void relate(std::vector<double>& values);
  [[nodiscard]] bool holds(const std::vector<double>& values, bool nan_too) const;
  void aim(const egraph::Condition& condition, std::vector<double>& values);
  void draw_numbers(std::vector<double>& values);
  /// Returns the nearest value that the variable's type has, in rules about types.
  [[nodiscard]] double typed(double value, std::size_t variable) const;
  void draw_functions(Point& point);
  /// Draws a value where a comparison changes; every other one is where its terms are equal, if possible.
  double target(const Targets& targets);
  Function function();
  /// Draws a number within 10^-6 and 10^6, or near a constant of the rule.
  double wide_number();
  /// Scales a function so that its value at x lies near a constant of the rule, or beyond it.
  void bring_near_constant(Function& f, double x);

  const egraph::Rule& rule_;
  const Sorts& sorts_;
  std::vector<double> corners_;                  ///< finite ones of f64
  std::vector<double> constants_;                ///< of the rule
  std::optional<std::vector<Targets>> targets_;  ///< by variable, once they are asked for
  std::vector<double> specials_of_f64_, specials_of_f32_;
  std::mt19937_64 random_;
};

}  // namespace trident::rulecheck
