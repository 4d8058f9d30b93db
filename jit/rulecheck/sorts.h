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
  std::vector<expr::Type> types;       ///< by variable, in rules about types; empty in others
};

/// The type of every term of a side of a rule about types. TypeError: operands of two types. Unsupported: numbers,
/// arithmetic on integers.
Result<std::vector<expr::Type>> types_of(const egraph::Pattern& side, const Sorts& sorts);

/// TypeError: sides or operands of two types, a power without its exponent. Unsupported: constants and variables of
/// expressions as operations, casts in rules that do not say
/// all types, integer arithmetic; derivatives by terms, by several variables, or
/// nested more than twice.
Result<Sorts> sorts_of(const egraph::Rule& rule);

}  // namespace trident::rulecheck
