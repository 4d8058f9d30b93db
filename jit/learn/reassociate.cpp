#include "jit/learn/reassociate.h"

#include <random>
#include <utility>
#include <vector>

#include "jit/expr/builder.h"
#include "jit/expr/compact.h"

namespace trident::learn {
namespace {

using expr::Expr;
using expr::Node;
using expr::NodeId;
using expr::Op;

struct Part {
  NodeId id;  ///< node in the source
  bool negated = false;
};

class Reassociation {
 public:
  Reassociation(const Expr& from, SumShape shape, std::uint64_t seed)
      : from_(from), shape_(shape), random_(seed), builder_(to_), uses_(from.nodes.size()), place_(from.nodes.size()) {
    for (const Node& n : from.nodes)
      for (const NodeId operand : {n.a, n.b, n.c})
        if (operand.valid()) ++uses_[operand.index];
    for (const expr::Output& o : from.outputs) uses_[o.node.index] += 2;  // outputs stay as they are
  }

  Expr run() {
    to_.variables = from_.variables;
    for (std::uint32_t i = 0; i < from_.nodes.size(); ++i) place_[i] = again(NodeId(i));
    for (const expr::Output& o : from_.outputs) to_.outputs.push_back({o.name, place_[o.node.index], o.storage});
    expr::drop_unused(to_);
    return std::move(to_);
  }

 private:
  NodeId again(NodeId id) {
    Node node = from_.at(id);
    const bool sum = node.op == Op::Add || node.op == Op::Sub;
    if (sum || node.op == Op::Mul) {
      std::vector<Part> parts;
      collect({id, false}, sum, true, parts);
      if (parts.size() > 2) return join(std::move(parts), sum);
    }
    for (NodeId* operand : {&node.a, &node.b, &node.c})
      if (operand->valid()) *operand = place_[operand->index];
    return builder_.add(node);
  }

  /// Collects the terms or factors below a node, through nodes without other users.
  void collect(Part part, bool sum, bool root, std::vector<Part>& parts) const {
    const Node& n = from_.at(part.id);
    const bool term = n.op == Op::Add || n.op == Op::Sub;
    const bool inner = sum ? term : n.op == Op::Mul;
    if (!inner || (!root && uses_[part.id.index] > 1)) {
      parts.push_back(part);
      return;
    }
    collect({n.a, part.negated}, sum, false, parts);
    collect({n.b, part.negated != (n.op == Op::Sub)}, sum, false, parts);
  }

  NodeId join(std::vector<Part> parts, bool sum) {
    for (std::size_t i = parts.size(); i > 1; --i) std::swap(parts[i - 1], parts[random_() % i]);
    std::vector<std::pair<NodeId, bool>> left;
    for (const Part& p : parts) left.emplace_back(place_[p.id.index], p.negated);
    while (left.size() > 1) {
      // Joins two neighbours: the first two of a chain, the next two in turn of a tree, or any at random.
      const std::size_t at = shape_ == SumShape::random ? random_() % (left.size() - 1) : 0;
      const auto [a, a_negated] = left[at];
      const auto [b, b_negated] = left[at + 1];
      std::pair<NodeId, bool> joined{{}, a_negated && b_negated};
      if (!sum || a_negated == b_negated)
        joined.first = builder_.op(sum ? Op::Add : Op::Mul, a, b);
      else
        joined.first = a_negated ? builder_.op(Op::Sub, b, a) : builder_.op(Op::Sub, a, b);
      const auto place = left.begin() + static_cast<std::ptrdiff_t>(at);
      left.erase(place, place + 2);
      if (shape_ == SumShape::tree)
        left.push_back(joined);
      else
        left.insert(left.begin() + static_cast<std::ptrdiff_t>(at), joined);
    }
    return left[0].second ? builder_.op(Op::Neg, left[0].first) : left[0].first;
  }

  const Expr& from_;
  SumShape shape_;
  std::mt19937_64 random_;
  Expr to_;
  expr::Builder builder_;
  std::vector<std::uint32_t> uses_;
  std::vector<NodeId> place_;
};

}  // namespace

Expr reassociated(const Expr& expr, SumShape shape, std::uint64_t seed) {
  return Reassociation(expr, shape, seed).run();
}

Expr without_fma(const Expr& from) {
  Expr to;
  to.variables = from.variables;
  expr::Builder builder(to);
  std::vector<NodeId> place(from.nodes.size());
  for (std::size_t i = 0; i < from.nodes.size(); ++i) {
    Node node = from.nodes[i];
    for (NodeId* operand : {&node.a, &node.b, &node.c})
      if (operand->valid()) *operand = place[operand->index];
    place[i] =
        node.op == Op::Fma ? builder.op(Op::Add, builder.op(Op::Mul, node.a, node.b), node.c) : builder.add(node);
  }
  for (const expr::Output& o : from.outputs) to.outputs.push_back({o.name, place[o.node.index], o.storage});
  expr::drop_unused(to);
  return to;
}

}  // namespace trident::learn
