// The best term that a graph holds. By tree cost that is exact (every class has one best node). By DAG cost, where
// shared parts count once, it is NP-hard: a greedy pass in which every class carries the set of classes that its best
// term needs (after the greedy DAG extractors of the extraction gym), then local improvement of the choice under the
// true cost.
#pragma once

#include <span>
#include <vector>

#include "jit/egraph/egraph.h"
#include "jit/egraph/term.h"

namespace trident::egraph {

class Extractor {
 public:
  /// The graph stays as it is meanwhile. Once `watch` says that it is late, what was found by then is taken, and what
  /// it has no room for is done without.
  explicit Extractor(const EGraph& graph, const CostModel& costs, Watch watch = Watch());

  /// Least tree cost. Empty when a root has no finite term, or one that is infinitely dear, or it was late too soon.
  Term tree(std::span<const ClassId> roots);
  /// Small DAG cost, never above that of tree().
  Term dag(std::span<const ClassId> roots);
  /// Up to `count` different terms, the best first: each next one is extracted with what earlier ones chose made
  /// dearer.
  std::vector<Term> diverse(std::span<const ClassId> roots, std::size_t count);
  /// Of the memory besides that for every node, what is taken now, and the most at once.
  [[nodiscard]] std::size_t held() const { return watch_.held(); }
  [[nodiscard]] std::size_t held_max() const { return watch_.held_max(); }

 private:
  bool choose_by_tree();
  bool choose_by_dag();
  bool choose_by_needs(std::span<const ClassId> classes, std::span<const std::uint32_t> number);
  void improve(std::span<const ClassId> roots);
  /// Cost of the DAG below the roots under the present choice; infinite when it has a cycle, or it got late.
  double cost_below(std::span<const ClassId> roots, std::vector<ClassId>* used);
  bool visit(ClassId id, double& sum, std::vector<ClassId>* used);
  Term build(std::span<const ClassId> roots);

  const EGraph& graph_;
  CostModel costs_;
  Watch watch_;
  bool hurried_ = false;             // whether cost_below() may be late
  std::vector<double> node_cost_;    // per node
  std::vector<NodeIndex> choice_;    // per class
  std::vector<double> total_;        // per class
  std::vector<std::uint32_t> mark_;  // per class: visit stamps; even: on the way, odd: done
  std::uint32_t stamp_ = 0;
};

}  // namespace trident::egraph
