// Where values are NaN together. C's fmin and fmax give the number when one operand is NaN, so a network of them is NaN
// where all the values below it are. Each such value is a bit, a node the set of those below it; a node is NaN wherever
// one with a greater set is. Networks sort and select: most of their operands are known to be NaN only together, or
// never before the other, and need no care.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::expr {

/// The sets of nodes, in order of their numbers. At most 64 values have a bit; what stands on others is unknown.
class NanSets {
 public:
  /// Makes the sets of an expression of `nodes` nodes.
  explicit NanSets(std::size_t nodes) : nodes_(nodes) {}
  /// Notes that node `id` is NaN where both operands are.
  void join(NodeId id, NodeId a, NodeId b);
  /// The set of a node; 0: unknown. A node that was not joined is a value of its own.
  std::uint64_t of(NodeId id);
  /// Returns whether `a` is NaN wherever `b` is.
  bool implies(NodeId b, NodeId a);

 private:
  struct Entry {
    bool known = false;
    std::uint64_t set = 0;
  };
  Entry& entry(NodeId id);

  std::size_t nodes_;
  std::vector<Entry> entries_;  // of every node, from the first question on
  unsigned values_ = 0;
};

}  // namespace trident::expr
