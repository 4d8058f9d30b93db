// Decisions that all printers share: which nodes get a name of their own, how variables are called, and which literals
// must state their type for the text to mean the same expression again.
#pragma once

#include <string>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::expr {

struct PrintPlan {
  explicit PrintPlan(const Expr& expr);

  std::vector<std::string> variables;  ///< names, made unique and readable for the parsers
  std::vector<std::string> outputs;    ///< the same for outputs
  std::vector<std::string> names;      ///< per node: the local that holds it, or empty
  std::vector<std::uint32_t> needed;   ///< nodes that get a local, operands first
  std::vector<bool> settled;           ///< per node: printed plainly, its type is not left open by literals

  /// Returns whether constant `operand` of `user` must state its type: no other operand settles it.
  [[nodiscard]] bool states_type(const Expr& expr, const Node& user, NodeId operand) const;
  /// Returns the name that stands for node `id` in the text: of a variable, the index or a local; else empty.
  [[nodiscard]] std::string_view name_of(const Expr& expr, NodeId id) const;
};

/// Returns the shortest decimal that reads back as the constant; "inf", "-inf" and "nan" for those.
std::string print_constant(Type type, std::uint64_t bits);
/// Returns the name of the function that `n` calls; a cast's is its type.
std::string_view function_of(const Node& n);
/// Returns the end of a range.
std::string print_bound(double value);

}  // namespace trident::expr
