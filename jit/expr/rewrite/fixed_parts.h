// An expression of which a search leaves some nodes as they are (special_values.h). To the search each is a variable of
// which nothing is known, and what it is made of is one more output; so its operands are rewritten like the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::expr::rewrite {

/// Casts of f64 to f32 that are cast back: f64(f32(x)) has the value of an f32, so what rounds in f32 too, but
/// elsewhere, is another value, off by far more than f64 rounds. Left out are those of sums and the like of widened f32
/// values, for which there are exact rules.
std::vector<bool> casts_read_in_f64(const Expr& expr);

class FixedParts {
 public:
  /// `fixed`: per node of `source`, which has no derivatives and must outlive this.
  FixedParts(const Expr& source, std::vector<bool> fixed);

  /// The source for the search. Its variables from source.variables.size() on stand for fixed nodes.
  [[nodiscard]] const Expr& open() const { return open_; }
  /// A form of open() as one of the source. Nothing where what a node is made of has become something that is made of
  /// that node.
  [[nodiscard]] std::optional<Expr> close(const Expr& form) const;
  /// An expression over the variables of open(), with outputs of its own, over those of the source.
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
