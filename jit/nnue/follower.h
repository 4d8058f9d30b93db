// Keeps the incumbent extraction of a growing graph: for every class the node of least tree cost, updated from the
// costs that have fallen since, and the accumulator of the nodes that the roots need (incumbent.h).
//
// Costs only fall, and a node costs more than any of its children; so the choices have no cycle, and changes reach the
// incumbent children first, by rising cost, which avoids cycles in between.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "jit/egraph/guide.h"
#include "jit/nnue/afterstate.h"

namespace trident::nnue {

class Follower {
 public:
  /// Weights and kinds must outlive it.
  Follower(const nn::AccumulatorWeights& weights, const KindTable& kinds, unsigned depth = kDefaultDepth);

  /// Starts with a new graph, which must outlive all later calls and keep its unions. False if its roots have no term
  /// of finite cost, or one so dear that costs mean little: then there is no incumbent, now and later.
  bool begin(const egraph::GuidedGraph& graph);
  /// Updates all after the graph has grown and was rebuilt.
  void follow();

  [[nodiscard]] bool holds() const { return holds_; }
  [[nodiscard]] Incumbent& incumbent() { return incumbent_; }
  [[nodiscard]] const Incumbent& incumbent() const { return incumbent_; }
  [[nodiscard]] Afterstates& afterstates() { return *afterstates_; }
  [[nodiscard]] const Hosts& hosts() const { return hosts_; }
  /// Returns the tree cost of the incumbent: the sum over the roots.
  [[nodiscard]] double cost() const;
  /// Returns the tree cost of a canonical class.
  [[nodiscard]] double cost(ClassId id) const { return total_[id]; }
  [[nodiscard]] std::span<const egraph::NodeIndex> chosen() const { return chosen_; }

 private:
  void grow();
  void offer(egraph::NodeIndex node);
  void propagate();
  [[nodiscard]] double own_cost(const egraph::ENode& node) const;
  void unite();
  void tell();
  void know(ClassId id);
  void find_hosts(egraph::NodeIndex first);

  const KindTable& kinds_;
  Incumbent incumbent_;
  std::optional<Afterstates> afterstates_;
  Hosts hosts_;
  const egraph::EGraph* graph_ = nullptr;
  const egraph::CostModel* costs_ = nullptr;
  std::vector<ClassId> roots_;
  bool holds_ = false;
  std::vector<double> total_;  ///< per class, by the graph's number at that time
  std::vector<egraph::NodeIndex> chosen_;
  std::vector<ClassId> fallen_;   ///< cheaper classes whose users are not updated yet
  std::vector<ClassId> changed_;  ///< changes that the incumbent was not told yet
  std::vector<std::uint8_t> marks_;
  std::size_t unions_ = 0;  ///< number of the graph's unions that were handled
  std::vector<ClassId> unknown_;
  std::vector<egraph::Union> parts_;  ///< scratch of tell(): classes and the parts merged into them
};

}  // namespace trident::nnue
