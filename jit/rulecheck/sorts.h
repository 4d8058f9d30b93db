// Sorts of a rule's variables: numbers, truth values, integers or tables, and the one that it differentiates by. A rule
// that cannot be understood this way cannot be checked, so it must not be used.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/expr/expr.h"
#include "jit/rulecheck/meant.h"
#include "runtime/base/result.h"

namespace trident::rulecheck {

enum class Sort : std::uint8_t { number, truth, integer, table };

struct Sorts {
  std::vector<bool> truth;  ///< by variable
  std::vector<Sort> of_variable;
  std::vector<Sort> of_left, of_right;  ///< by term
  bool truth_sides = false;             ///< both sides are truth values
  std::optional<std::uint8_t> slopes;   ///< the variable ?x of (diff e ?x), in rules with derivatives
  std::map<double, mpq_class> meant;    ///< constants that round fractions
  std::vector<expr::Type> types;        ///< by variable, in rules about types; empty in others
  /// Both sides hold more than an f32, so a cast to f32 in them is an intended rounding; sides that are f32 round
  /// anyway.
  bool casts_round = false;
};

/// Returns the type of every term of a side of a rule about types. TypeError: operands of two types. Unsupported:
/// numbers, arithmetic on integers.
Result<std::vector<expr::Type>> types_of(const egraph::Pattern& side, const Sorts& sorts);

/// Finds the sorts. Integers and tables are allowed below gathers and strided reads only. TypeError: sides or operands
/// of two types, a power without its exponent. Unsupported: constants and variables of expressions as operations, casts
/// in rules that do not state all types; derivatives by terms, by several variables, or nested more than twice.
Result<Sorts> sorts_of(const egraph::Rule& rule);

}  // namespace trident::rulecheck
