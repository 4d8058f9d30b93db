#include "jit/equiv/apart.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "jit/equiv/branches.h"
#include "jit/equiv/known_values.h"
#include "jit/expr/ranges.h"
#include "jit/expr/shape.h"

namespace trident::equiv {
namespace {

using expr::Expr;
using expr::Node;
using expr::NodeId;
using expr::Op;

// Replaces reduction `order[i]` by variable number `first` + i, and appends the reductions' operands to the outputs.
Expr without_reductions(const Expr& expr, const std::vector<std::uint32_t>& order, const std::vector<bool>& swapped,
                        const std::vector<expr::Variable>& results) {
  Expr apart = expr;
  const std::size_t first = apart.variables.size();
  apart.variables.insert(apart.variables.end(), results.begin(), results.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    Node& node = apart.nodes[order[i]];
    if (swapped[i]) std::swap(node.a, node.b);
    apart.outputs.push_back({"operand", node.a});
    if (node.b.valid()) apart.outputs.push_back({"operand", node.b});
    node = {Op::Variable, node.type, {}, {}, {}, first + i};
  }
  return apart;
}

}  // namespace

std::optional<Apart> take_apart(const Expr& source, const Expr& form, std::uint64_t seed) {
  const auto reductions = [](const Expr& e) {
    std::vector<std::uint32_t> list;
    for (std::uint32_t i = 0; i < e.nodes.size(); ++i)
      if (expr::makes_total(e.nodes[i].op)) list.push_back(i);
    return list;
  };
  const auto operands = [seed](const Expr& e, const std::vector<std::uint32_t>& list) {
    std::vector<NodeId> nodes;
    for (const std::uint32_t i : list) {
      nodes.push_back(e.nodes[i].a);
      nodes.push_back(e.nodes[i].b.valid() ? e.nodes[i].b : e.nodes[i].a);
    }
    return known_values(e, nodes, seed);
  };
  const std::vector<std::uint32_t> theirs = reductions(source), ours = reductions(form);
  const std::vector<Values> their_values = operands(source, theirs), our_values = operands(form, ours);
  std::vector<std::uint32_t> source_order, form_order;
  std::vector<bool> swapped, taken(theirs.size(), false);
  for (std::size_t m = 0; m < ours.size(); ++m) {
    for (std::size_t n = 0; n < theirs.size() && form_order.size() == m; ++n) {
      const Node& a = source.nodes[theirs[n]];
      const Node& b = form.nodes[ours[m]];
      if (taken[n] || a.op != b.op || a.type != b.type) continue;
      for (const bool swap : {false, true}) {
        if ((swap && !b.b.valid()) || form_order.size() > m) continue;
        if (!equal_over_the_reals(their_values[2 * n], our_values[2 * m + (swap ? 1 : 0)]) ||
            !equal_over_the_reals(their_values[2 * n + 1], our_values[2 * m + (swap ? 0 : 1)]))
          continue;
        taken[n] = true;
        source_order.push_back(theirs[n]), form_order.push_back(ours[m]), swapped.push_back(swap);
      }
    }
    if (form_order.size() == m) return std::nullopt;
  }
  if (source_order.size() != theirs.size()) return std::nullopt;
  std::vector<expr::Variable> results;
  expr::Ranges ranges(source);
  for (std::size_t i = 0; i < source_order.size(); ++i) {
    const expr::Fact fact = ranges.at(NodeId(source_order[i]));
    results.push_back(
        {"r" + std::to_string(i + 1), source.nodes[source_order[i]].type, expr::VariableKind::array, fact.lo, fact.hi});
  }
  Apart apart{without_reductions(source, source_order, std::vector<bool>(swapped.size(), false), results),
              without_reductions(form, form_order, swapped, results),
              {}};
  for (std::size_t k = 0; k < apart.source.outputs.size(); ++k) {
    const std::vector<bool> reads = variables_of(apart.source, apart.source.outputs[k].node);
    const auto first_result = reads.begin() + static_cast<std::ptrdiff_t>(source.variables.size());
    apart.unexplored.push_back(k >= source.outputs.size() || std::find(first_result, reads.end(), true) != reads.end());
  }
  return apart;
}

}  // namespace trident::equiv
