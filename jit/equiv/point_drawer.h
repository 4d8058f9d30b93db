// Draws points: a value for every variable of an expression.
#pragma once

#include "jit/equiv/samples.h"

namespace trident::equiv {

/// Ways of drawing for variables that decide nothing.
inline constexpr Way kWays[] = {Way::uniform, Way::spread, Way::small, Way::vast, Way::tiny};

class PointDrawer {
 public:
  PointDrawer(const expr::Expr& expr, const SampleOptions& options);

  [[nodiscard]] const expr::Expr& expr() const { return expr_; }
  [[nodiscard]] std::size_t variables() const { return expr_.variables.size(); }
  [[nodiscard]] Random& random() { return random_; }
  /// Some constants of the source, in order.
  [[nodiscard]] const std::vector<double>& constants() const { return constants_; }
  [[nodiscard]] bool cancelled() const { return options_.cancelled && options_.cancelled(); }

  Point independent(Way way);
  /// Mixes tiny and vast values.
  Point mixed();
  /// Draws one place for all variables, or two that are often near to each other. Then a product of many overflows
  /// where all are large, and variables of one range are equal or opposite.
  Point alike(Way way);
  /// Varies `point`: values of every kind for the variables that decide nothing.
  void vary_others(const Point& point, const std::vector<bool>& deciding, std::vector<Point>& found);

 private:
  // Returns a zero, infinity or NaN that the range of a variable allows, or else `ordinary`.
  Bits special(std::size_t v, Bits ordinary);

  const expr::Expr& expr_;
  const SampleOptions& options_;
  Random random_;
  std::vector<double> constants_;
};

}  // namespace trident::equiv
