// Appends nodes to an Expr and shares equal ones (hash-consing), so that one value is one node whatever the text said
// twice. Nothing is folded or rewritten: a text keeps its order of operations until simplify() is asked.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::expr {

/// Returns the bits of `value` rounded to a float type, or truncated to an integer type (which must hold it).
std::uint64_t bits_of(Type type, double value);
/// Returns the value of a constant of a float or integer type; an i64 beyond 2^53 is rounded.
double value_of(Type type, std::uint64_t bits);
/// Returns the bits of an integer constant of type i32 or i64, wrapped to the width.
std::uint64_t bits_of_int(Type type, std::int64_t value);
/// Returns the value of an i32 or i64 constant.
std::int64_t int_of_bits(Type type, std::uint64_t bits);

class Builder {
 public:
  /// Appends to `expr`, whose nodes are shared from now on. `expr` must outlive the builder.
  explicit Builder(Expr& expr);

  NodeId constant(Type type, double value) { return constant_bits(type, bits_of(type, value)); }
  NodeId constant_int(Type type, std::int64_t value) { return constant_bits(type, bits_of_int(type, value)); }
  NodeId constant_bits(Type type, std::uint64_t bits);
  NodeId variable(std::uint32_t index);
  NodeId index() { return add({Op::Index, Type::i64, {}, {}, {}, 0}); }
  /// Any op but Constant, Variable, Powi and Cast; the type follows from the operands.
  NodeId op(Op op, NodeId a, NodeId b = {}, NodeId c = {});
  /// Makes a power; an exponent beyond kPowiMax becomes a product of two powers.
  NodeId powi(NodeId a, std::int64_t exponent);
  NodeId cast(Type type, NodeId a);
  /// `node` as it stands; operands must exist already.
  NodeId add(const Node& node);

  [[nodiscard]] Type type_of(NodeId id) const { return expr_.nodes[id.index].type; }
  [[nodiscard]] const Node& at(NodeId id) const { return expr_.nodes[id.index]; }
  [[nodiscard]] Expr& expr() { return expr_; }
  [[nodiscard]] const Expr& expr() const { return expr_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(expr_.nodes.size()); }

 private:
  void rehash(std::size_t slots);

  Expr& expr_;
  std::vector<std::uint32_t>
      slots_;  // open addressing over nodes: index + 1, 0 is free; a power of two, at most half full
};

}  // namespace trident::expr
