// Nodes of an expression as C: an operand is a literal, an element or a local; any other node is one statement.
#pragma once

#include <cstddef>
#include <string>

#include "jit/expr/expr.h"

namespace trident::cli {

std::string c_type(ir::Type type);

/// Returns the cast to the unsigned type of an integer's width: integers wrap, which C defines for unsigned ones only.
std::string c_unsigned(ir::Type type);

class CStatements {
 public:
  explicit CStatements(const expr::Expr& e) : expr_(e) {}

  /// Returns the literal, the element or the local "t7" that stands for a node in other statements.
  [[nodiscard]] std::string operand(expr::NodeId id) const;
  /// Returns the operand as it is stored: a truth value as all ones or zeros.
  [[nodiscard]] std::string stored(expr::NodeId id) const;
  /// Returns the statement that defines the local of a node, which must have one and be no reduction.
  [[nodiscard]] std::string definition(std::size_t index) const;

 private:
  using Node = expr::Node;
  /// Returns a pattern (OpInfo::c) with the node's operands.
  [[nodiscard]] std::string filled_with(const std::string& pattern, const Node& n) const;
  [[nodiscard]] std::string cast(const Node& n) const;
  /// x^n by squaring, whose steps go into `before`: they are shared, as a programmer would share them.
  [[nodiscard]] std::string power(std::size_t index, std::string& before) const;
  /// Reads a table. Lengths are what the caller says, 0 when negative: an unsigned comparison has both ends.
  [[nodiscard]] std::string read(const Node& n) const;
  [[nodiscard]] std::string expression(std::size_t index, std::string& before) const;

  const expr::Expr& expr_;
};

}  // namespace trident::cli
