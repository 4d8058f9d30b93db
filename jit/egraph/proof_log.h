// Why two nodes of a graph are equal: every merge with its reason, as a forest over the nodes (after Nieuwenhuis &
// Oliveras, "Fast congruence closure and extensions", 2007). The path between two nodes exists once they are equal, and
// stays as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jit/egraph/enode.h"

namespace trident::egraph {

struct Reason {
  enum class Kind : std::uint8_t {
    congruence,  ///< the same op over equal children
    rule,        ///< an instance of rule `index`
    constant,    ///< the value is known
    tactic,      ///< a tactic says so
  };
  Kind kind = Kind::tactic;
  std::uint16_t index = 0;                     ///< of the rule
  std::span<const std::uint32_t> variables{};  ///< the nodes that the rule's variables stood for
};

class ProofLog {
 public:
  /// Adds a node of the graph; its children are nodes too.
  void created(const ENode& node);
  /// Records that nodes x and y, not equal before, now are. For a rule, x is its left side.
  void merged(std::uint32_t x, std::uint32_t y, const Reason& reason);

  /// Returns a node as it was when it joined. Its children's numbers never change here, unlike in the graph.
  [[nodiscard]] const ENode& original(std::uint32_t node) const { return originals_[node]; }

  struct Edge {
    std::uint32_t x = 0, y = 0;
    Reason::Kind kind = Reason::Kind::tactic;
    std::uint16_t rule = 0;
    std::uint32_t first_variable = 0, variables = 0;
  };
  /// Returns an edge; numbers are in the order of the merges.
  [[nodiscard]] const Edge& edge(std::uint32_t number) const { return edges_[number]; }
  [[nodiscard]] std::size_t edges() const { return edges_.size(); }
  [[nodiscard]] std::span<const std::uint32_t> variables_of(const Edge& edge) const {
    return std::span(variables_).subspan(edge.first_variable, edge.variables);
  }
  /// Returns the edges between two nodes; nothing when they are not equal.
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> way(std::uint32_t a, std::uint32_t b) const;
  /// Returns whether two nodes were equal before edge `number` was made.
  [[nodiscard]] bool equal_before(std::uint32_t a, std::uint32_t b, std::uint32_t number) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::vector<ENode> originals_;
  std::vector<std::uint32_t> parent_;       ///< per node: the next on the way to its root, or kNone
  std::vector<std::uint32_t> parent_edge_;  ///< ... by this edge
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> variables_;
};

}  // namespace trident::egraph
