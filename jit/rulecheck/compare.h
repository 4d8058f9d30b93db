// Compares both sides of a rule at one point over the reals, with as many bits as needed.
#pragma once

#include <string>
#include <vector>

#include "jit/rulecheck/points.h"
#include "jit/rulecheck/rulecheck.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

/// nowhere: neither side is a number. undecided: too near for any number of bits that is tried.
enum class Outcome { equal, nowhere, undecided, differ, only_left, only_right };

struct Sides {
  Outcome outcome = Outcome::undecided;
  std::string left, right;  ///< as text
};

Sides compare_at(const egraph::Rule& rule, const Sorts& sorts, const Point& point);

/// Prints a value of `type` (f32 or f64), or a point.
std::string text_of(double value, expr::Type type = expr::Type::f64);
std::vector<Binding> bindings(const egraph::Rule& rule, const Sorts& sorts, const Point& point, expr::Type type);

}  // namespace trident::rulecheck
