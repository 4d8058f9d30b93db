// A graph to look at: its classes as rows of nodes, for Graphviz and for pages.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "jit/egraph/egraph.h"
#include "jit/egraph/term.h"

namespace trident::egraph {

struct GraphView {
  struct Node {
    std::string text;               ///< the op, or the leaf's name or value
    std::vector<ClassId> children;  ///< canonical
    bool chosen = false;            ///< part of the term that was taken out
  };
  struct Class {
    ClassId id = 0;
    bool root = false;
    std::vector<Node> nodes;
    std::string facts;  ///< "in [0, 1], nonzero"; empty when nothing is known
  };
  std::vector<Class> classes;  ///< those that the roots reach, by number
  std::uint32_t nodes_added = 0;
};

/// `text` names a node that is a leaf or has a payload. The graph must be rebuilt; `chosen` was extracted from it.
GraphView view_of(const EGraph& graph, std::span<const ClassId> roots, const Term& chosen,
                  const std::function<std::string(const ENode&)>& text);

/// Classes as boxes around their nodes, which point to the classes of their operands; the chosen term is filled.
std::string print_dot(const GraphView& view);

}  // namespace trident::egraph
