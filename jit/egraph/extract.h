// The best term that a graph holds. By tree cost that is exact (every class has one best node). By DAG cost, where
// shared parts count once, it is NP-hard: a greedy pass in which every class carries the set of classes that its best
// term needs (after the greedy DAG extractors of the extraction gym), then local improvement of the choice under the
// true cost.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "jit/egraph/egraph.h"
#include "jit/egraph/term.h"

namespace trident::egraph {

class Extractor {
 public:
  /// The graph must be rebuilt and stay as it is meanwhile. `late` (may be empty) is asked now and then: once it says
  /// so, what was found by then is taken.
  Extractor(const EGraph& graph, const CostModel& costs, std::function<bool()> late = {});

  /// Least tree cost. Empty when a root has no finite term, or one that is infinitely dear.
  Term tree(std::span<const ClassId> roots);
  /// Small DAG cost, never above that of tree().
  Term dag(std::span<const ClassId> roots);
  /// Up to `count` different terms, the best first: each next one is extracted with what earlier ones chose made
  /// dearer.
  std::vector<Term> diverse(std::span<const ClassId> roots, std::size_t count);

 private:
  void choose_by_tree();
  bool choose_by_dag();
  void improve(std::span<const ClassId> roots);
  /// Cost of the DAG below the roots under the present choice; infinite when it has a cycle.
  double cost_below(std::span<const ClassId> roots, std::vector<ClassId>* used);
  bool visit(ClassId id, double& sum, std::vector<ClassId>* used);
  Term build(std::span<const ClassId> roots);

  bool late() { return late_ && late_(); }

  const EGraph& graph_;
  CostModel costs_;
  std::function<bool()> late_;
  std::vector<double> node_cost_;    // per node
  std::vector<NodeIndex> choice_;    // per class
  std::vector<double> total_;        // per class
  std::vector<std::uint32_t> mark_;  // per class: visit stamps; even: on the way, odd: done
  std::uint32_t stamp_ = 0;
};

}  // namespace trident::egraph
