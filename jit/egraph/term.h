// A term as a DAG of nodes, outside any graph: the input and the output of a search.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/egraph/egraph.h"

namespace trident::egraph {

/// A term. Children of a node are indices of earlier nodes; no two nodes are equal.
struct Term {
  std::vector<ENode> nodes;
  std::vector<std::uint32_t> roots;
  std::vector<NodeIndex> origin{};  ///< of one that was extracted: the graph's node behind each node
};

/// Cost of one node. Must not be negative; infinite means that it must not be chosen.
struct CostModel {
  const void* context = nullptr;
  double (*cost)(const void* context, const ENode& node, std::uint8_t stage) = nullptr;
  /// Returns the stage (Facts::stage) of a node's value from its children's; null: kStageOfElements for all.
  std::uint8_t (*stage)(const ENode& node, const std::array<std::uint8_t, 3>& children) = nullptr;
  [[nodiscard]] double of(const ENode& node, std::uint8_t at = kStageOfElements) const {
    return cost(context, node, at);
  }
};

/// Returns the stage of every node of a term under `costs`.
std::vector<std::uint8_t> stages_of(const Term& term, std::span<const OpRow> ops, const CostModel& costs);

/// Counts every node once.
double dag_cost(const Term& term, std::span<const OpRow> ops, const CostModel& costs);
/// Counts every node as often as the written-out term has it; may be huge.
double tree_cost(const Term& term, std::span<const OpRow> ops, const CostModel& costs);

/// Adds the term; returns the classes of its roots, or an empty list when the graph is full.
std::vector<ClassId> add(EGraph& graph, const Term& term);
/// Adds the term; returns the class of every node, or nothing when the graph is full or the time is up.
std::vector<ClassId> add_all(EGraph& graph, const Term& term, Watch& watch);
std::vector<ClassId> add_all(EGraph& graph, const Term& term);

}  // namespace trident::egraph
