// Which variables of a rule are numbers, which are truth values, and by which it differentiates. A rule that cannot be
// understood this way cannot be checked, so it must not be used.
#pragma once

#include <optional>
#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::rulecheck {

struct Sorts {
  std::vector<bool> truth;             ///< by variable
  bool truth_sides = false;            ///< both sides are truth values
  std::optional<std::uint8_t> slopes;  ///< the variable ?x of (diff e ?x), in rules with derivatives
};

/// TypeError: sides or operands of two types, a power without its exponent. Unsupported: constants and variables of
/// expressions as operations, casts, integer arithmetic; derivatives by terms, by several variables, or
/// nested more than twice.
Result<Sorts> sorts_of(const egraph::Rule& rule);

}  // namespace trident::rulecheck
