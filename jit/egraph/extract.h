// The best term in a graph. By tree cost extraction is exact (every class has one best node). By DAG cost, where shared
// parts count once, it is NP-hard. So a greedy pass gives every class the set of classes that its best term needs
// (after the greedy DAG extractors of the extraction gym); then local improvement works on the choice under the true
// cost.
#pragma once

#include <span>
#include <vector>

#include "jit/egraph/egraph.h"
#include "jit/egraph/term.h"

namespace trident::egraph {

class Extractor {
 public:
  /// The graph must not change meanwhile. Once `watch` is late, the best result so far is taken; parts for which it has
  /// no memory are skipped.
  explicit Extractor(const EGraph& graph, const CostModel& costs, Watch watch = Watch());

  /// Returns the term of least tree cost; empty if a root has no finite term or the time was up too early.
  Term tree(std::span<const ClassId> roots);
  /// Returns a term of small DAG cost, never above that of tree().
  Term dag(std::span<const ClassId> roots);
  /// Returns up to `count` different terms, the best first. Each is extracted with the nodes of the earlier ones made
  /// dearer.
  std::vector<Term> diverse(std::span<const ClassId> roots, std::size_t count);
  /// Extra memory beyond the per-node part: in use now, and at its peak.
  [[nodiscard]] std::size_t held() const { return watch_.held(); }
  [[nodiscard]] std::size_t held_max() const { return watch_.held_max(); }

 private:
  bool choose_by_tree();
  bool choose_by_dag();
  bool choose_by_needs(std::span<const ClassId> classes, std::span<const std::uint32_t> number);
  void improve(std::span<const ClassId> roots);
  /// Returns the DAG cost below the roots under the present choice; infinite if it has a cycle or the time is up.
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
