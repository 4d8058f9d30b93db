// A guide that asks a network: every match is scored by the incumbent extraction after it, by its
// rule, and by some numbers about the place (candidates.h).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "jit/egraph/guide.h"
#include "jit/nnue/candidates.h"
#include "jit/nnue/follower.h"

namespace trident::nnue {

/// Costs that depend on rules alone: the tree cost of a right side is ops + sum over variables of uses * cost.
struct RuleCost {
  double ops = 0;
  std::array<std::uint8_t, egraph::kRuleVariablesMax> uses{};
  std::uint8_t variables = 0;
};
RuleCost cost_of(const egraph::Rule& rule, const egraph::CostModel& costs);

/// Computes the scalars that a search knows of a candidate. Costs and counts are logarithmic, 32 for each doubling.
class SearchContext {
 public:
  void begin(const egraph::GuidedGraph& graph, const Follower& follower);
  void fill(const Candidate& candidate, Scalars& out) const;
  /// Records that a match of the rule was taken; brought() records how much cheaper the incumbent became since.
  void took(egraph::RuleIndex rule);
  void brought(double gain);

 private:
  struct OfRule {
    std::uint32_t hits = 0;
    double benefit = 0;
  };
  const egraph::EGraph* graph_ = nullptr;
  const Follower* follower_ = nullptr;
  std::vector<RuleCost> costs_;
  std::vector<OfRule> of_rules_;
  std::vector<egraph::RuleIndex> taken_;
};

class NetworkGuide final : public egraph::Guide {
 public:
  /// All arguments must outlive it. The guide's head has a row of biases for every rule that may match.
  NetworkGuide(const nn::AccumulatorWeights& weights, const KindTable& kinds, unsigned depth = kDefaultDepth);

  void begin(const egraph::GuidedGraph& graph) override;
  void add(std::span<const Candidate> matches) override;
  std::optional<Candidate> take() override;
  void follow() override;

  /// Totals over all graphs so far.
  struct Counts {
    std::uint64_t steps = 0, built = 0, scored = 0, moves = 0, rebuilds = 0;
  };
  [[nodiscard]] Counts counts() const;

 private:
  Follower follower_;
  SearchContext context_;
  std::optional<Candidates> candidates_;
  std::span<const egraph::Rule> rules_;  ///< rules of candidates_ and rows_
  std::vector<std::uint32_t> rows_;      ///< rows of biases, per rule
  std::vector<Candidate> waiting_;       ///< used without an incumbent
  double explore_ = 0, cost_ = 0;
  std::uint64_t random_ = 1;
  std::uint32_t fruitless_ = 0, from_nodes_ = 0;  ///< matches taken since the incumbent became cheaper
  Counts counts_;
};

}  // namespace trident::nnue
