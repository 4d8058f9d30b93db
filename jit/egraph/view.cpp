#include "jit/egraph/view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "jit/ir/text.h"

namespace trident::egraph {
namespace {

std::string text_of(const Facts& facts) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  char line[80];
  if (facts.constant)
    std::snprintf(line, sizeof line, "is %.9g", facts.lo), add(line);
  else if (std::isfinite(facts.lo) || std::isfinite(facts.hi))
    std::snprintf(line, sizeof line, "in [%.9g, %.9g]", facts.lo, facts.hi), add(line);
  if (facts.nonzero && !(facts.lo > 0 || facts.hi < 0)) add("nonzero");
  if (facts.integral && !facts.constant) add("integral");
  if (!facts.may_be_nan && !facts.constant) add("a number");
  return text;
}

}  // namespace

GraphView view_of(const EGraph& graph, std::span<const ClassId> roots, const Term& chosen,
                  const std::function<std::string(const ENode&)>& text) {
  std::vector<bool> taken(graph.size(), false), reached(graph.size(), false), is_root(graph.size(), false);
  for (const NodeIndex n : chosen.origin) taken[n] = true;
  std::vector<ClassId> open;
  const auto reach = [&](ClassId id) {
    id = graph.find(id);
    if (!reached[id]) reached[id] = true, open.push_back(id);
  };
  for (const ClassId root : roots) is_root[graph.find(root)] = true, reach(root);
  GraphView view;
  view.nodes_added = graph.size();
  while (!open.empty()) {
    GraphView::Class& c = view.classes.emplace_back();
    c.id = open.back();
    open.pop_back();
    c.root = is_root[c.id];
    c.facts = text_of(graph.facts(c.id));
    graph.each_node(c.id, [&](NodeIndex n) {
      const ENode& node = graph.node(n);
      GraphView::Node& row = c.nodes.emplace_back();
      row.text = text(node);
      row.chosen = taken[n];
      for (std::uint8_t i = 0; i < graph.row(node.op).children; ++i) {
        row.children.push_back(graph.find(node.child[i]));
        reach(node.child[i]);
      }
    });
  }
  std::sort(view.classes.begin(), view.classes.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return view;
}

std::string print_dot(const GraphView& view) {
  std::string out =
      "digraph egraph {\n  compound=true;\n  rankdir=BT;\n  node [shape=box, style=rounded, fontname=\"monospace\"];\n";
  const auto name = [](ClassId id, std::size_t node) { return "n" + std::to_string(id) + "_" + std::to_string(node); };
  for (const GraphView::Class& c : view.classes) {
    const std::string id = std::to_string(c.id);
    const std::string label = "c" + id + (c.facts.empty() ? "" : "\n" + c.facts);
    out += "  subgraph cluster_" + id + " {\n    label=" + ir::dot_quoted(label) + ";\n    style=";
    out += c.root ? "bold;\n" : "dashed;\n";
    for (std::size_t n = 0; n < c.nodes.size(); ++n) {
      out += "    " + name(c.id, n) + " [label=" + ir::dot_quoted(c.nodes[n].text);
      if (c.nodes[n].chosen) out += ", style=\"rounded,filled\", fillcolor=lightblue";
      out += "];\n";
    }
    out += "  }\n";
  }
  for (const GraphView::Class& c : view.classes) {
    for (std::size_t n = 0; n < c.nodes.size(); ++n) {
      for (const ClassId child : c.nodes[n].children)
        out += "  " + name(child, 0) + " -> " + name(c.id, n) + " [ltail=cluster_" + std::to_string(child) + "];\n";
    }
  }
  return out + "}\n";
}

}  // namespace trident::egraph
