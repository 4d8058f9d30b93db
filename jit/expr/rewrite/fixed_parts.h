// An expression some of whose nodes the search must leave alone (special_values.h). The search sees each such node as a
// variable without known facts, and its operands as further outputs, which are rewritten like the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::expr::rewrite {

/// Marks casts of f64 to f32 that are cast back. f64(f32(x)) has the value of an f32, so rounding in f32 at another
/// place gives a different value, off by far more than f64 rounds. Casts of sums and the like of widened f32 values are
/// left out: there are exact rules for them.
std::vector<bool> casts_read_in_f64(const Expr& expr);

class FixedParts {
 public:
  /// `fixed`: per node of `source`, which has no derivatives and must outlive this.
  FixedParts(const Expr& source, std::vector<bool> fixed);

  /// Returns the source for the search. Its variables from source.variables.size() on stand for fixed nodes.
  [[nodiscard]] const Expr& open() const { return open_; }
  /// Returns a form of open() as a form of the source; nothing where a fixed node's operands would depend on that
  /// node.
  [[nodiscard]] std::optional<Expr> close(const Expr& form) const;
  /// Returns an expression over the variables of open(), with its own outputs, as one over those of the source.
  [[nodiscard]] Expr close_others(const Expr& others) const;

 private:
  class Closing;
  [[nodiscard]] bool is_open(NodeId id) const;

  const Expr& source_;
  std::vector<bool> fixed_;
  Expr open_;
  std::vector<NodeId> stands_for_;      ///< per variable beyond the source's: the node of the source
  std::vector<std::uint32_t> outputs_;  ///< per node of the source that a fixed one is made of: its output in open()
};

}  // namespace trident::expr::rewrite
