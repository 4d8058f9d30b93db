// Evaluates a side of a rule in exact rational arithmetic.
#pragma once

#include <gmpxx.h>

#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/rulecheck/sorts.h"

namespace trident::rulecheck {

struct RationalValue {
  enum class Kind : std::uint8_t { number, truth, none, open };
  Kind kind = Kind::none;  ///< none: no number, as 1/0. open: undefined, as the sign of zero
  mpq_class number;
  bool truth = false;

  [[nodiscard]] bool is_number() const { return kind == Kind::number; }
};

/// Returns the fraction that a constant in a side stands for.
mpq_class fraction_of(double constant, const Sorts& sorts);

/// Returns whether all operations are rational, and all constants fractions.
bool is_rational(const egraph::Pattern& side, const Sorts& sorts);

/// Returns the value of every term of a rational side; `values` by variable, truth values being 0 or 1.
std::vector<RationalValue> rational_values(const egraph::Pattern& side, const std::vector<mpq_class>& values,
                                           const Sorts& sorts);

}  // namespace trident::rulecheck
