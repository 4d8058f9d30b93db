// Source and form of a comparison over one list of nodes, and the parts that are cut out of it (parts.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/equiv/known_values.h"
#include "jit/equiv/verdict.h"
#include "jit/expr/builder.h"
#include "jit/expr/ranges.h"
#include "jit/expr/shape.h"

namespace trident::equiv {

/// By node of the source: whether a part ends there, at a value that both have.
using Cuts = std::vector<bool>;

/// Holds source and form over one list of nodes, and cuts parts out of them.
class BothForms {
 protected:
  using Expr = expr::Expr;
  using Node = expr::Node;
  using NodeId = expr::NodeId;
  using Op = expr::Op;
  using Shape = expr::Shape;

  BothForms(const Expr& source, const Expr& form, const expr::LowerOptions& how);
  BothForms(const BothForms&) = delete;  // builder_ points to both_

  std::vector<NodeId> import(const Expr& expr);

  // Returns whether a part may end at a node. A mask as a number is 0 or 1: its truth value becomes the variable.
  [[nodiscard]] bool may_end(std::uint32_t c) const;

  // Returns the pairs of nodes that must be the same in the end.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> ends() const;

  // Returns the source's node with alike operands and the same op. A fused product and sum counts as the two ops.
  [[nodiscard]] std::optional<std::uint32_t> made_alike(std::uint32_t m) const;

  // Returns another op with the same bits: a + -1 for a - 1, a * a for a^2, 1 / a for recip(a), and back.
  [[nodiscard]] std::optional<Node> other_spelling(Node node) const;
  [[nodiscard]] std::optional<std::uint32_t> find(Node node) const;

  // --- one part: node n of the source against node m of the form ---

  [[nodiscard]] std::vector<bool> reached(std::uint32_t root, const Cuts& cuts) const;

  /// Returns the nodes that are alike those reached below `root`.
  [[nodiscard]] std::vector<bool> met(std::uint32_t root, const Cuts& cuts) const;

  /// Both parts as one expression: the original variables, one for each cut that either reaches, and two outputs.
  struct Pair {
    Expr expr;
    std::vector<std::uint32_t> parts;  ///< the nodes that the new variables stand for
  };

  [[nodiscard]] Pair cut(std::uint32_t n, std::uint32_t m, const Cuts& cuts) const;

  // Adds a variable to `expr` with the known facts of a node's values; a mask becomes the test of an integer against 0.
  // `append` takes nodes.
  template <class Append>
  NodeId add_variable(std::uint32_t part, Expr& expr, const Append& append) const {
    const expr::Type type = both_.nodes[part].type;
    const std::uint64_t index = expr.variables.size();
    expr::Variable& v = expr.variables.emplace_back();
    v.name = "p" + std::to_string(index - both_.variables.size() + 1);
    v.kind = shapes_[part] == Shape::uniform ? expr::VariableKind::scalar : expr::VariableKind::array;
    if (type == expr::Type::b32) {
      v.type = expr::Type::i32, v.lo = 0, v.hi = 1;
      const NodeId variable = append({Op::Variable, v.type, {}, {}, {}, index});
      return append({Op::Ne, type, variable, append({Op::Constant, v.type, {}, {}, {}, 0}), {}, 0});
    }
    v.type = type, v.lo = facts_[part].lo, v.hi = facts_[part].hi;
    v.or_nan = or_nan_ && ir::is_float(type) && facts_[part].may_be_nan;
    return append({Op::Variable, type, {}, {}, {}, index});
  }

  // A form may round to f32 at other places than its source; the checks say how careful it is there.
  [[nodiscard]] long double tolerance_of(expr::Type type) const {
    return narrows_ && type == expr::Type::f32 ? kNarrowTolerance : kEqualityTolerance;
  }

  [[nodiscard]] std::string text_of(std::uint32_t node) const;

  // Adds the meaning of the new variables to the counterexample.
  void explain(const Pair& pair, Counterexample& e) const;

  Expr both_;  ///< source and form over one list of nodes, the source's first; outputs of the source
  expr::Builder builder_;
  std::uint32_t source_nodes_ = 0;
  bool narrows_ = false;  ///< one of them casts f64 to f32
  bool or_nan_ = false;   ///< a variable may be NaN beside its range, so that parts may be
  std::vector<NodeId> form_outputs_;
  std::vector<Shape> shapes_;
  std::vector<expr::Fact> facts_;     ///< per node
  std::vector<std::uint32_t> alike_;  ///< per node: the node of the source that it is alike, or itself
};

}  // namespace trident::equiv
