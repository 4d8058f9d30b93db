// Evaluates an expression at one point: finds the side of a step, and the way to make a value vanish.
//
// Most points differ from the one before in a variable or two, and few nodes are asked about. So looking at a point
// marks the nodes that depend on what has moved, and a value is computed when it is asked for: of those below it the
// ones that are marked. The values are those of an evaluation of all nodes.
#pragma once

#include <vector>

#include "jit/equiv/branches.h"
#include "jit/equiv/evaluator.h"

namespace trident::equiv {

class Probe {
 public:
  /// `expr` has passed check() and must outlive the probe.
  explicit Probe(const expr::Expr& expr);
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  /// Goes to a point.
  void look(const Point& point);
  /// Returns the strict value of a node, which depends on no reduction, at the point looked at last.
  [[nodiscard]] double value(expr::NodeId id);

  /// Returns the side of a node's step on which a point lies, as a number to compare.
  double side_of(std::uint32_t node, const Point& point);
  /// Returns whether a point takes all these turns.
  bool takes(const std::vector<Turn>& turns, const Point& point);

  /// Moves two points on two sides of a node's step towards each other until they are neighbours; returns false when
  /// they are on one side.
  bool close_in(std::uint32_t node, Point& low, Point& high);
  /// A float value to make small, or two to bring together.
  struct Target {
    expr::NodeId a, b;
    friend bool operator==(const Target&, const Target&) = default;
  };
  /// Descends from `start` to the least target that moving one variable after the other reaches (a pattern search with
  /// shrinking steps): zero, for a sum of squares. Returns the point.
  Point descend(const Target& target, Point start);
  /// Moves `start` to a point where the target is zero to the bit, if a secant in one variable leads there;
  /// otherwise returns false and leaves `start`. A sum is straight enough for that where its terms have few
  /// bits.
  bool make_zero(const Target& target, Point& start);
  /// Returns, by variable, whether the target depends on it.
  [[nodiscard]] std::vector<bool> variables_of(const Target& target) const;

 private:
  /// Computes what is out of date of a node and of those below it.
  void renew(std::uint32_t node);
  /// Returns a node and those below it, operands first; made when first asked for.
  const std::vector<std::uint32_t>& below(std::uint32_t node);

  const expr::Expr& expr_;
  Samples one_;
  Evaluator<Tracked<double>> evaluator_;
  bool looked_ = false;                              ///< the evaluator has values of all nodes
  std::vector<std::vector<std::uint32_t>> readers_;  ///< by variable: the nodes that depend on it
  std::vector<std::vector<std::uint32_t>> below_;    ///< by node
  std::vector<char> outdated_;                       ///< by node
};

}  // namespace trident::equiv
