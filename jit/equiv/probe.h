// Looks at an expression at one point: on which side of a step it lies, and where to go to make a value vanish.
#pragma once

#include <vector>

#include "jit/equiv/branches.h"
#include "jit/equiv/evaluator.h"

namespace trident::equiv {

using Point = std::vector<Bits>;  ///< one value per variable

class Probe {
 public:
  /// `expr` has passed check() and must outlive the probe.
  explicit Probe(const expr::Expr& expr);
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  /// Evaluates everything that does not depend on a reduction, strictly.
  void look(const Point& point);
  /// The strict value of a node at the point looked at last.
  [[nodiscard]] double value(expr::NodeId id) const;

  /// The side of a node's step on which a point lies, as a number to compare.
  double side_of(std::uint32_t node, const Point& point);
  /// Whether a point takes all these turns.
  bool takes(const std::vector<Turn>& turns, const Point& point);

  /// Two points on two sides of a node's step move towards each other until they are neighbours; false when they are on
  /// one side.
  bool close_in(std::uint32_t node, Point& low, Point& high);
  /// A float value to make small, or two to bring together.
  struct Target {
    expr::NodeId a, b;
    friend bool operator==(const Target&, const Target&) = default;
  };
  /// From `start` down to where the target is least, as far as moving one variable after the other leads (a pattern
  /// search with shrinking steps): to zero, for a sum of squares. Returns the point.
  Point descend(const Target& target, Point start);
  /// A point where the target is zero to the bit, if it is so nearly straight in one of its variables that a secant
  /// leads there from `start`; false if not, and `start` is as it was. A sum is that straight where what it adds has few
  /// bits.
  bool make_zero(const Target& target, Point& start);
  /// By variable: whether the target depends on it.
  [[nodiscard]] std::vector<bool> variables_of(const Target& target) const;

 private:
  const expr::Expr& expr_;
  Samples one_;
  Evaluator<Tracked<double>> evaluator_;
};

}  // namespace trident::equiv
