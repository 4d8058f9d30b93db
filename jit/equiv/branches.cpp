#include "jit/equiv/branches.h"

#include <optional>

#include "jit/expr/ranges.h"

namespace trident::equiv {
namespace {

using expr::Expr;
using expr::Op;

/// Most ways for which points are sought; every one costs a few sets of points.
constexpr std::size_t kWaysMax = 32;

// Returns, for every node, the turns of the way from an output with the fewest.
std::vector<std::vector<Turn>> turns_to_nodes(const Expr& expr) {
  const std::size_t unreached = expr.nodes.size() + 1;
  std::vector<std::vector<Turn>> turns(expr.nodes.size());
  std::vector<std::size_t> length(expr.nodes.size(), unreached);
  for (const expr::Output& o : expr.outputs) length[o.node.index] = 0;
  for (auto i = static_cast<std::uint32_t>(expr.nodes.size()); i-- > 0;) {
    if (length[i] == unreached) continue;
    const expr::Node& n = expr.nodes[i];
    const auto reach = [&](expr::NodeId id, std::optional<Turn> turn) {
      if (!id.valid() || length[id.index] <= length[i] + (turn ? 1 : 0)) return;
      turns[id.index] = turns[i];
      if (turn) turns[id.index].push_back(*turn);
      length[id.index] = turns[id.index].size();
    };
    reach(n.a, {});
    reach(n.b, n.op == Op::Select ? std::optional(Turn{i, 0}) : std::nullopt);
    reach(n.c, n.op == Op::Select ? std::optional(Turn{i, 1}) : std::nullopt);
  }
  return turns;
}

}  // namespace

Branches branches_of(const Expr& expr) {
  Branches branches;
  std::vector<std::uint32_t> selections;
  for (std::uint32_t i = 0; i < expr.nodes.size(); ++i)
    if (expr.nodes[i].op == Op::Select) selections.push_back(i);
  if (selections.empty()) return branches;
  if (selections.size() > kWaysMax / 2) {
    branches.complete = false;
    return branches;
  }
  auto& ways = branches.ways;
  const auto turns = turns_to_nodes(expr);
  expr::Ranges ranges(expr);
  for (const std::uint32_t node : selections) {
    const expr::Fact fact = ranges.at(expr.nodes[node].a);
    for (const int side : {0, 1}) {
      if (side == 0 ? fact.never() : fact.always()) continue;
      ways.push_back(turns[node]);
      ways.back().push_back({node, side});
    }
  }
  branches.alone = ways.size();
  for (std::size_t a = 0; a < branches.alone; ++a) {
    for (std::size_t b = a + 1; b < branches.alone && ways.size() < kWaysMax; ++b) {
      if (ways[a].back().node == ways[b].back().node) continue;
      std::vector<Turn> both = ways[a];
      both.insert(both.end(), ways[b].begin(), ways[b].end());
      ways.push_back(std::move(both));
    }
  }
  return branches;
}

std::vector<bool> variables_of(const Expr& expr, expr::NodeId node) {
  std::vector<bool> reached(node.index + 1, false), result(expr.variables.size(), false);
  reached[node.index] = true;
  for (std::uint32_t i = node.index + 1; i-- > 0;) {
    if (!reached[i]) continue;
    const expr::Node& n = expr.nodes[i];
    if (n.op == Op::Variable) result[static_cast<std::size_t>(n.imm)] = true;
    for (const expr::NodeId operand : {n.a, n.b, n.c})
      if (operand.valid()) reached[operand.index] = true;
  }
  return result;
}

}  // namespace trident::equiv
