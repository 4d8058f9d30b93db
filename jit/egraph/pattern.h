// Patterns: terms with variables, and rewrite rules made of two of them and conditions.
//
//   (add (mul ?a ?b) (mul ?a ?c))     ops by their names in the op table; ?name is a variable; numbers are constants
//   (powi ?a 3)                       a number after the children of an op is its payload
//   (f32 ?a)                          a type's name is the op "cast", if there is one, with a result of that type
//   if nonzero(?a), pos(?b)           conditions are facts that the graph must have proven
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/egraph/egraph.h"
#include "jit/ir/text.h"
#include "jit/ir/type.h"
#include "runtime/base/result.h"

namespace trident::egraph {

/// Distinct variables of one rule, and terms of one side.
inline constexpr std::size_t kRuleVariablesMax = 12;
inline constexpr std::size_t kPatternTermsMax = 64;

/// A number whose sort no variable fixes has that of the rewritten class.
inline constexpr std::uint8_t kSortedByRoot = 0xFF;

struct PatternTerm {
  enum class Kind : std::uint8_t { variable, number, node };
  Kind kind = Kind::variable;
  std::uint8_t op = 0;
  std::uint8_t variable = 0;  ///< number of the variable in its rule
  bool has_payload = false;
  std::uint8_t sort = kNoSort;             ///< of a cast: the type that it makes; of a number in a rule: where fixed
  std::uint8_t sorted_by = kSortedByRoot;  ///< a number in a rule with no fixed sort: the variable that has it
  std::array<std::uint8_t, 3> child{};     ///< terms, which precede this one
  double number = 0;                       ///< of a constant, or the payload
};

/// Terms in postfix order; the last is the root.
struct Pattern {
  std::vector<PatternTerm> terms;
  [[nodiscard]] const PatternTerm& root() const { return terms.back(); }
  /// Ops on the longest way from the root to a leaf; 0 for a variable or a number.
  [[nodiscard]] std::uint8_t depth() const;
};

/// Conditions of rules on their variables. X(Name, "text", arguments, "meaning"): "?first meaning[ ?second]" is a
/// sentence.
#define TRIDENT_EGRAPH_CONDITIONS(X)                                      \
  X(nonzero, "nonzero", 1, "is never zero")                               \
  X(positive, "pos", 1, "is always greater than zero")                    \
  X(nonnegative, "nonneg", 1, "is never less than zero")                  \
  X(negative, "negative", 1, "is always less than zero")                  \
  X(nonpositive, "nonpos", 1, "is never greater than zero")               \
  X(finite, "finite", 1, "is neither infinite nor NaN")                   \
  X(number, "notnan", 1, "is never NaN")                                  \
  X(integral, "integer", 1, "is always an integer")                       \
  X(constant, "const", 1, "is a constant")                                \
  X(integer_two_up, "intge2", 1, "is a constant integer of two or more")  \
  X(within_one, "within1", 1, "always lies in [-1, 1]")                   \
  X(at_least_one, "ge1", 1, "is never less than one")                     \
  X(within_half_pi, "halfpi", 1, "always lies in [-pi/2, pi/2]")          \
  X(symbolic, "sym", 1, "depends on a variable")                          \
  X(uniform, "uniform", 1, "is the same for all elements")                \
  X(stride, "stride", 1, "is a constant integer, not 0, of at most 2^16") \
  X(of_f32, "f32", 1, "is of type f32")                                   \
  X(of_f64, "f64", 1, "is of type f64")                                   \
  X(of_i32, "i32", 1, "is of type i32")                                   \
  X(of_b32, "b32", 1, "is a truth value")                                 \
  X(independent, "indep", 2, "does not depend on any variable of")        \
  X(le, "le", 2, "is never above")

enum class ConditionKind : std::uint8_t {
#define X(name, text, arguments, meaning) name,
  TRIDENT_EGRAPH_CONDITIONS(X)
#undef X
};

struct Condition {
  ConditionKind kind = ConditionKind::nonzero;
  std::array<std::uint8_t, 2> variable{};
};
bool holds(ConditionKind kind, const Facts& first, const Facts& second);
/// Returns the type that a condition is about; nothing where it is about values.
std::optional<ir::Type> type_of(ConditionKind kind);
std::string_view name_of(ConditionKind kind);
std::uint8_t arguments_of(ConditionKind kind);
/// "nonzero(?a)", and "?a is never zero".
std::string print(const Condition& condition, std::span<const std::string> variables);
std::string explain(const Condition& condition, std::span<const std::string> variables);

/// A rewrite rule. If it has a condition about a type, every variable must have one: it may match values of any type.
/// Other rules match only those that SearchSpace::sorts allows.
struct Rule {
  std::string name;
  Pattern left, right;
  std::vector<Condition> conditions;
  std::vector<std::string> variables;  ///< names by number
  bool typed = false;                  ///< conditions state the type of every variable
  bool mixed = false;                  ///< handles values of several sorts: see OpRow
};

/// Parses "name: LHS => RHS [if cond, cond]". Everything after ";" is a comment. Errors show the place: unknown op or
/// condition, wrong number of children, a variable of the right side that the left does not bind.
Result<Rule> parse_rule(std::string_view text, std::span<const OpRow> ops);
/// Parses the line of `source` that holds byte `begin`, from there on.
Result<Rule> parse_rule(const ir::SourceText& source, std::size_t begin, std::span<const OpRow> ops);

/// Parses one side alone; `variables` grows by new names unless `closed`.
Result<Pattern> parse_pattern(std::string_view text, std::span<const OpRow> ops, std::vector<std::string>& variables,
                              bool closed);
std::string print(const Pattern& pattern, std::span<const OpRow> ops, std::span<const std::string> variables);

}  // namespace trident::egraph
