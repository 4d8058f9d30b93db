// Rules as expressions, and points in their domains. Shares nothing with jit/rulecheck.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/expr/expr.h"

namespace trident::testing {

bool has_op(const egraph::Pattern& pattern, expr::Op op);

/// Treats NaN as other values do: no condition but notnan() and finite() says anything of it.
bool true_at(const egraph::Condition& c, const std::vector<double>& at);

/// The type that a rule demands of a variable, else `otherwise`.
expr::Type type_of(const egraph::Rule& rule, std::size_t v, expr::Type otherwise);
/// The value of that type next to `x`.
double of_type(expr::Type type, double x);

/// For each variable: true when a truth value stands in its place.
std::vector<bool> truth_values(const egraph::Rule& rule);

/// One side over variables of `type`, with comparisons of zero with a variable in place of truth values; a side that is
/// a truth value becomes 1 or 0.
expr::Expr side(const egraph::Pattern& pattern, const egraph::Rule& rule, expr::Type type);

/// Most values within 0.01 and 10.
class RuleSampler {
 public:
  explicit RuleSampler(std::uint64_t seed) : random_(seed) {}

  double value();
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  std::uint64_t number() { return random_(); }
  /// A point where all conditions hold, or nothing.
  bool point(const egraph::Rule& rule, std::vector<double>& at);

 private:
  void aim(const egraph::Condition& c, std::vector<double>& at);
  std::mt19937_64 random_;
};

}  // namespace trident::testing
