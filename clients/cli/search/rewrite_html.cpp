// The page of `trident rewrite --html`: the result of one case, and the graph that it was found in.
#include <cstdio>

#include "clients/cli/search/rewrite.h"
#include "runtime/report/html_page.h"

namespace trident::cli {
namespace html = report::html;
namespace {

std::string link(egraph::ClassId id) {
  const std::string name = "c" + std::to_string(id);
  return "<a href=\"#" + name + "\">" + name + "</a>";
}

std::string node_html(const egraph::GraphView::Node& node) {
  std::string text = html::escape(node.text);
  for (std::size_t i = 0; i < node.children.size(); ++i) text += (i == 0 ? "(" : ", ") + link(node.children[i]);
  if (!node.children.empty()) text += ")";
  return node.chosen ? "<strong>" + text + "</strong>" : text;
}

// Every class a row that others link to; what was taken out of the graph stands first and bold.
std::string classes_html(const egraph::GraphView& view) {
  std::string out = "<table><thead><tr><th>class</th><th>ways to say it</th><th>known</th></tr></thead><tbody>\n";
  for (const egraph::GraphView::Class& c : view.classes) {
    const std::string name = "c" + std::to_string(c.id);
    out += "<tr id=\"" + name + "\"><td>" + name + (c.root ? " (result)" : "") + "</td><td>";
    bool first = true;
    for (const bool chosen : {true, false}) {
      for (const egraph::GraphView::Node& node : c.nodes) {
        if (node.chosen != chosen) continue;
        out += (first ? "" : "<br>") + node_html(node);
        first = false;
      }
    }
    out += "</td><td>" + html::escape(c.facts) + "</td></tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string six_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}

}  // namespace

std::string rewrite_html(const RewriteCase& c) {
  using expr::rewrite::TermCost;
  const double ratio = cost_ratio(c, &TermCost::dag);
  std::size_t nodes = 0;
  for (const auto& row : c.graph.classes) nodes += row.nodes.size();
  std::string body =
      html::tiles({{six_digits(ratio), "of the cost before, shared parts once", ratio <= 1},
                   {six_digits(c.before.dag) + " \u2192 " + six_digits(c.after.dag), "cost as a DAG", ratio <= 1},
                   {six_digits(c.before.tree) + " \u2192 " + six_digits(c.after.tree), "cost as a tree", true},
                   {six_digits(c.error.ulp), "ulp at most, in f64", c.wrong.empty()}});
  body += html::section("Result", "The cheapest form that was found.", "<pre>" + html::escape(c.result) + "</pre>");
  if (!c.derivation.empty()) {
    std::vector<std::vector<std::string>> steps;
    for (const DerivationLine& step : c.derivation)
      steps.push_back({step.rule, step.left, step.right, rounded_text(step)});
    body += html::section("Derivation",
                          "Instances of rules from which the result follows; each may use what earlier ones say, equal "
                          "parts are put for each other, and constants folded. Where the last column names constants, "
                          "the sides are equal up to their rounding.",
                          html::table({"rule", "left", "right", "constants"}, steps));
  }
  body += html::section("Graph",
                        "The last graph that held something better: " + std::to_string(c.graph.classes.size()) +
                            " classes of equal terms, " + std::to_string(nodes) + " nodes that the result reaches, " +
                            std::to_string(c.graph.nodes_added) +
                            " added in all. A node's operands are classes; what was taken out is bold.",
                        classes_html(c.graph));
  return html::page(c.name,
                    "trident rewrite: " + std::string(egraph::name_of(c.stats.stop)) + " after " +
                        std::to_string(c.stats.graphs) + " graphs and " + std::to_string(c.stats.applications) +
                        " applications of rules",
                    body);
}

}  // namespace trident::cli
