// The incumbent extraction of a graph that grows: of every class the node with which it has the least tree cost, found
// by working off what has fallen since, and the accumulator of what the roots need (incumbent.h).
//
// Costs only fall, and a node costs more than any of its children; so the choices have no cycle, and changes reach the
// incumbent children first, by rising cost, which keeps it without one in between.
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

  /// Of a new graph, which must outlive what follows and keep its unions. False when its roots have no term of finite
  /// cost, or one so dear that costs mean little: there is no incumbent then, now and later.
  bool begin(const egraph::GuidedGraph& graph);
  /// The graph has grown and is rebuilt.
  void follow();

  [[nodiscard]] bool holds() const { return holds_; }
  [[nodiscard]] Incumbent& incumbent() { return incumbent_; }
  [[nodiscard]] const Incumbent& incumbent() const { return incumbent_; }
  [[nodiscard]] Afterstates& afterstates() { return *afterstates_; }
  [[nodiscard]] const Hosts& hosts() const { return hosts_; }
  /// Tree cost of the incumbent: the sum over the roots.
  [[nodiscard]] double cost() const;
  /// Of canonical classes.
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
  std::vector<double> total_;  ///< per class, as the graph called it
  std::vector<egraph::NodeIndex> chosen_;
  std::vector<ClassId> fallen_;   ///< whose users have not heard of it
  std::vector<ClassId> changed_;  ///< that the incumbent has not heard of
  std::vector<std::uint8_t> marks_;
  std::size_t unions_ = 0;  ///< of the graph's, those that are known
  std::vector<ClassId> unknown_;
  std::vector<egraph::Union> parts_;  ///< scratch of tell(): classes and what became part of them
};

}  // namespace trident::nnue
