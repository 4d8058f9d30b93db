// Predicts T after a rewrite, without making it: the right side of a rule as an overlay of nodes that the graph
// may or may not have, in place of a class of T. A class outside T is seen through its host: the cheapest way down from
// T (Hosts), whose nodes join the overlay.
//
// Nodes that the graph has are found by hash-consing, with the operands of commutative ops in the graph's order; so
// the features are those that the nodes will have once they are made.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/egraph/term.h"
#include "jit/nnue/incumbent.h"

namespace trident::nnue {

/// Finds for every class the way up to the roots of least regret: regret(root) = 0, and regret(child) is the least
/// over the nodes n that use it, of classes p, of regret(p) + cost(n) - best(p), all by tree cost.
class Hosts {
 public:
  /// `chosen`: per canonical class the node of least tree cost, or egraph::kNone. The graph stays as it is.
  Hosts(const egraph::EGraph& graph, std::span<const egraph::NodeIndex> chosen, const egraph::CostModel& costs,
        std::span<const ClassId> roots);

  /// Starts empty: no class has a way yet.
  Hosts() = default;
  void clear() { regret_.clear(), user_.clear(); }
  void grow(std::uint32_t classes) {
    regret_.resize(classes, std::numeric_limits<double>::infinity());
    user_.resize(classes, egraph::kNone);
  }
  /// Offers a way of `regret` over node `user`; kNone: the class is a root.
  void offer(ClassId id, double regret, egraph::NodeIndex user) {
    if (regret < regret_[id]) regret_[id] = regret, user_[id] = user;
  }
  /// Merges two classes: `gone` is called `kept` now.
  void unite(ClassId kept, ClassId gone) { offer(kept, regret_[gone], user_[gone]); }

  /// Returns the regret of a canonical class; infinite if no root needs it.
  [[nodiscard]] double regret(ClassId id) const { return regret_[id]; }
  /// Returns the node above it on that way; egraph::kNone for roots.
  [[nodiscard]] egraph::NodeIndex user(ClassId id) const { return user_[id]; }

 private:
  std::vector<double> regret_;
  std::vector<egraph::NodeIndex> user_;
};

/// T after a rewrite: references to `from` go to `to` or, if that is egraph::kNone, to the last node of the overlay.
struct Afterstate {
  ClassId from = egraph::kNone, to = egraph::kNone;
  Overlay overlay;
  std::uint32_t made = 0;   ///< nodes of the right side that the graph lacks
  std::uint32_t steps = 0;  ///< from T down to the rewritten class
};

class Afterstates {
 public:
  static constexpr std::uint32_t kStepsMax = 3;

  /// All arguments must outlive it. `semantics`: the graph's. `chosen`: nodes of classes that the incumbent does not
  /// know, per canonical class. Null `hosts`: classes outside T have no afterstate.
  Afterstates(const egraph::EGraph& graph, const egraph::Semantics& semantics, const KindTable& kinds,
              Incumbent& incumbent, std::span<const egraph::NodeIndex> chosen, const Hosts* hosts = nullptr)
      : graph_(graph), semantics_(semantics), kinds_(kinds), incumbent_(incumbent), chosen_(chosen), hosts_(hosts) {}

  /// Replaces the choices given before.
  void set_chosen(std::span<const egraph::NodeIndex> chosen) { chosen_ = chosen; }
  /// Starts with T as the term: its nodes' `origin` are the choices.
  void begin(const egraph::Term& term);
  /// Builds the afterstate of a rule's match at `root`, a member of a class, with `variables`. False if there is none:
  /// a class without a choice, an overlay that is too large, T too far away, a right side that is the class itself.
  bool build(const egraph::Rule& rule, ClassId root, std::span<const ClassId> variables, Afterstate& out);
  [[nodiscard]] Choice choice_of(egraph::NodeIndex node) const;

 private:
  struct Made {
    std::uint32_t at = egraph::kNone;  ///< class, or overlay_child()
    std::uint8_t sort = 0;
  };
  bool know(ClassId id);
  Made make(egraph::ENode node, Afterstate& out);
  std::uint32_t append(egraph::ENode node, Afterstate& out);
  bool climb(ClassId root, std::uint32_t top, Afterstate& out);

  const egraph::EGraph& graph_;
  egraph::Semantics semantics_;
  const KindTable& kinds_;
  Incumbent& incumbent_;
  std::span<const egraph::NodeIndex> chosen_;
  const Hosts* hosts_;
  std::array<egraph::ENode, kOverlayMax> nodes_;  ///< nodes of the current overlay
  std::vector<ClassId> unknown_;
};

}  // namespace trident::nnue
