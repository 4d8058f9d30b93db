#include "jit/egraph/term.h"

namespace trident::egraph {
namespace {

constexpr std::uint64_t kAddSteps = 12;

}  // namespace

std::vector<std::uint8_t> stages_of(const Term& term, std::span<const OpRow> ops, const CostModel& costs) {
  std::vector<std::uint8_t> stages(term.nodes.size(), kStageOfElements);
  for (std::size_t i = 0; costs.stage != nullptr && i < stages.size(); ++i) {
    const ENode& node = term.nodes[i];
    std::array<std::uint8_t, 3> children{};
    for (std::uint8_t c = 0; c < ops[node.op].children; ++c) children[c] = stages[node.child[c]];
    stages[i] = costs.stage(node, children);
  }
  return stages;
}

double dag_cost(const Term& term, std::span<const OpRow> ops, const CostModel& costs) {
  const std::vector<std::uint8_t> stages = stages_of(term, ops, costs);
  double sum = 0;
  for (std::size_t i = 0; i < term.nodes.size(); ++i) sum += costs.of(term.nodes[i], stages[i]);
  return sum;
}

double tree_cost(const Term& term, std::span<const OpRow> ops, const CostModel& costs) {
  const std::vector<std::uint8_t> stages = stages_of(term, ops, costs);
  std::vector<double> below(term.nodes.size());
  for (std::size_t i = 0; i < term.nodes.size(); ++i) {
    below[i] = costs.of(term.nodes[i], stages[i]);
    for (std::uint8_t c = 0; c < ops[term.nodes[i].op].children; ++c) below[i] += below[term.nodes[i].child[c]];
  }
  double sum = 0;
  for (const std::uint32_t root : term.roots) sum += below[root];
  return sum;
}

std::vector<ClassId> add_all(EGraph& graph, const Term& term) {
  Watch endless;
  return add_all(graph, term, endless);
}

std::vector<ClassId> add_all(EGraph& graph, const Term& term, Watch& watch) {
  std::vector<ClassId> classes(term.nodes.size());
  for (std::size_t i = 0; i < term.nodes.size(); ++i) {
    ENode node = term.nodes[i];
    for (std::uint8_t c = 0; c < graph.row(node.op).children; ++c) node.child[c] = classes[node.child[c]];
    classes[i] = graph.add(node);
    if (classes[i] == kNone || watch.spend(kAddSteps)) return {};
  }
  return classes;
}

std::vector<ClassId> add(EGraph& graph, const Term& term) {
  const std::vector<ClassId> classes = add_all(graph, term);
  if (classes.empty()) return {};
  std::vector<ClassId> roots;
  for (const std::uint32_t root : term.roots) roots.push_back(classes[root]);
  return roots;
}

}  // namespace trident::egraph
