// Oracle: a graph made by hand, and the words that each text must contain.
#include "jit/egraph/view.h"

#include <gtest/gtest.h>

#include "jit/egraph/extract.h"
#include "jit/egraph/toy_terms.h"

namespace trident::egraph {
namespace {

TEST(View, ShowsWhatTheRootsReachAndWhatWasTaken) {
  EGraph graph(toy::kOps, toy::semantics(), {});
  const ClassId a = graph.add(toy::leaf(0)), two = graph.add(toy::number(2));
  const ClassId sum = graph.add(toy::node(toy::kAdd, a, a)), product = graph.add(toy::node(toy::kMul, a, two));
  graph.add(toy::node(toy::kNeg, two));  // no root reaches it
  graph.merge(sum, product);
  graph.rebuild();
  Extractor extractor(graph, toy::kCosts);
  const ClassId root = graph.find(sum);
  const GraphView view = view_of(graph, {{root}}, extractor.dag({{root}}), [](const ENode& node) {
    return node.op == toy::kLeaf ? "a" : std::string(toy::kOps[node.op].text);
  });
  ASSERT_EQ(view.classes.size(), 3u);
  std::size_t chosen = 0, nodes = 0, roots = 0;
  for (const GraphView::Class& c : view.classes) {
    roots += c.root ? 1 : 0;
    nodes += c.nodes.size();
    for (const GraphView::Node& node : c.nodes) {
      chosen += node.chosen ? 1 : 0;
      if (node.text == "add") {
        EXPECT_TRUE(node.chosen && c.root) << "4 is less than 5";
      }
    }
  }
  EXPECT_EQ(roots, 1u);
  EXPECT_EQ(nodes, 4u);
  EXPECT_EQ(chosen, 2u);  // a + a
  const std::string dot = print_dot(view);
  EXPECT_NE(dot.find("label=\"c1\\nis 2\""), std::string::npos) << dot;
  EXPECT_NE(dot.find("[label=\"add\", style=\"rounded,filled\""), std::string::npos) << dot;
  EXPECT_EQ(dot.find("neg"), std::string::npos);
}

}  // namespace
}  // namespace trident::egraph
